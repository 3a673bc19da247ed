// The sections of a job file other than `agent:`.
#include <algorithm>

#include "supervisor/base/units.h"
#include "supervisor/job/fields.h"
#include "supervisor/job/sections.h"

namespace warder::job {
namespace {

using base::inQuotes;
using base::YamlFields;
using base::YamlNode;

constexpr std::size_t kMostCollectors = 8;
constexpr std::size_t kMostGlobs = 100;
constexpr std::size_t kLongestGlob = 1024;
constexpr std::uint64_t kDefaultResults = 1ULL << 30;

void readCollector(const YamlNode& node, const std::string& path, Draft& draft) {
  YamlFields fields(node, path, draft.faults);
  CollectorSpec collector;
  if (const YamlNode* url = fields.need("collector")) {
    draft.note(path + ".collector", url);
    collector.url = readUrl(*url, path + ".collector", draft.faults);
  }
  if (const YamlNode* token = fields.need("token")) {
    draft.note(path + ".token", token);
    const auto source = readHandedSource(*token, path + ".token", draft.folder, draft.faults);
    if (source) collector.token = *source;
  }
  collector.ca_file = readFilePath(fields, "ca_file", draft);
  fields.finish();
  draft.reading.job.results.to.push_back(std::move(collector));
}

void readCollectors(YamlFields& fields, Draft& draft) {
  const YamlNode* node = fields.find("to");
  if (node == nullptr) return;
  if (node->kind != YamlNode::Kind::Sequence) {
    draft.faults.add(*node, "results.to takes a list of collectors; this is " +
                                std::string(base::kindOf(*node)));
    return;
  }
  if (node->items.size() > kMostCollectors) {
    draft.faults.add(*node, "results.to has more than 8 collectors");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    readCollector(*node->items[i], "results.to[" + std::to_string(i) + "]", draft);
  }
}

/// Why this is no glob below the workspace; empty when it is one.
std::string whyNoGlob(const std::string& glob) {
  if (glob.empty()) return "is empty";
  if (glob.size() > kLongestGlob) return "is longer than 1024 bytes";
  if (glob.front() == '/') return "begins with /; artifacts are named relative to the workspace";
  const std::string framed = "/" + glob + "/";
  if (framed.find("/../") != std::string::npos) return "has a .. segment";
  if (framed.find("//") != std::string::npos || framed.find("/./") != std::string::npos) {
    return "has an empty or . segment";
  }
  return {};
}

void readArtifacts(YamlFields& fields, Draft& draft) {
  const YamlNode* node = fields.find("artifacts");
  auto globs = fields.texts("artifacts");
  if (!globs) return;
  if (globs->size() > kMostGlobs) {
    draft.faults.add(*node, "results.artifacts has more than 100 entries");
  }
  for (std::size_t i = 0; i < globs->size(); ++i) {
    const std::string why = whyNoGlob((*globs)[i]);
    if (!why.empty()) {
      draft.faults.add(*node->items[i], "results.artifacts: " + inQuotes((*globs)[i]) + " " + why);
    }
  }
  draft.reading.job.results.artifacts = std::move(*globs);
}

}  // namespace

std::string readFilePath(YamlFields& fields, const std::string& key, Draft& draft) {
  draft.note(fields.name(key), fields.find(key));
  return readPath(fields, key, draft.folder, draft.faults).value_or("");
}

void readPolicyAsk(const YamlNode& node, Draft& draft) {
  draft.note("policy", &node);
  PolicyAsk& ask = draft.reading.policy;
  ask.where = draft.faults.where(node.mark);
  if (node.kind == YamlNode::Kind::Mapping) {
    ask.from = PolicyAsk::From::Inline;
    ask.node = std::make_shared<YamlNode>(node);
    draft.reading.job.policy_source = "inline";
    return;
  }
  const auto text = base::yamlText(node, "policy", draft.faults);
  if (!text) return;
  const bool is_file = namesFile(*text);
  ask.from = is_file ? PolicyAsk::From::File : PolicyAsk::From::Shipped;
  ask.name = is_file ? absolutePath(draft.folder, *text) : *text;
  draft.reading.job.policy_source = ask.name;
}

void readMemory(const YamlNode& node, Draft& draft) {
  YamlFields fields(node, "memory", draft.faults);
  const YamlNode* list = fields.find("warn_at");
  fields.finish();
  if (list == nullptr) return;
  if (auto marks = readMarks(*list, "memory.warn_at", draft.faults))
    draft.reading.job.memory.warn_at_percent = std::move(*marks);
}

void readLimits(const YamlNode& node, Draft& draft) {
  YamlFields fields(node, "limits", draft.faults);
  LimitsSpec& limits = draft.reading.job.limits;
  limits.wall = fields.duration("wall");
  if (limits.wall && limits.wall->count() == 0) {
    draft.faults.add(*fields.find("wall"), "limits.wall is 0; leave it out for no limit");
  }
  limits.grace = fields.duration("grace").value_or(limits.grace);
  fields.finish();
}

void readResults(const YamlNode& node, Draft& draft) {
  YamlFields fields(node, "results", draft.faults);
  ResultsSpec& results = draft.reading.job.results;
  readArtifacts(fields, draft);
  results.patch = fields.boolean("patch").value_or(false);
  results.max_size = fields.size("max_size").value_or(kDefaultResults);
  const std::string directory = readFilePath(fields, "dir", draft);
  if (!directory.empty()) results.directory = directory;
  readCollectors(fields, draft);
  results.deliver_within = fields.duration("deliver_within").value_or(results.deliver_within);
  fields.finish();
}

}  // namespace warder::job
