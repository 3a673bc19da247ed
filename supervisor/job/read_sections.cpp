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

constexpr std::size_t kMostSecrets = 16;  // each has a door with two listeners
constexpr std::size_t kMostCollectors = 8;
constexpr std::size_t kMostMarks = 10;
constexpr std::size_t kMostGlobs = 100;
constexpr std::size_t kLongestGlob = 1024;
constexpr std::uint64_t kDefaultResults = 1ULL << 30;

/// [a-z][a-z0-9-]*, at most 32: becomes part of variable names and of events.
bool isSecretName(const std::string& name) {
  if (name.empty() || name.size() > 32 || name[0] < 'a' || name[0] > 'z') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

std::string readFilePath(YamlFields& fields, const std::string& key, Draft& draft) {
  draft.note(fields.name(key), fields.find(key));
  return readPath(fields, key, draft.folder, draft.faults).value_or("");
}

/// Which keys there may be beside `kind` depends on it.
void readInject(const YamlNode& node, const std::string& path, SecretSpec& secret, Draft& draft) {
  const std::vector<std::string> known = {"header", "bearer", "basic", "query", "sigv4"};
  YamlFields fields(node, path, draft.faults);
  const auto kind = fields.needText("kind");
  if (!kind) return;
  if (std::find(known.begin(), known.end(), *kind) == known.end()) {
    draft.faults.add(*fields.find("kind"), path + ".kind: there is no " + inQuotes(*kind) +
                                               base::suggestion(*kind, known));
    return;
  }
  InjectSpec& inject = secret.inject.emplace();
  inject.kind = *kind;
  if (*kind == "header" || *kind == "query") inject.name = fields.needText("name").value_or("");
  if (*kind == "basic") inject.user = fields.text("user").value_or("");
  if (*kind == "sigv4") {
    inject.service = fields.needText("service").value_or("");
    inject.region = fields.text("region").value_or("");
  }
  fields.finish();
}

void readSecret(const base::YamlEntry& entry, Draft& draft) {
  const std::string path = "secrets." + entry.key;
  if (!isSecretName(entry.key)) {
    draft.faults.add(entry.mark, "secrets: " + inQuotes(entry.key) +
                                     " is no name; write at most 32 of a-z, 0-9 and -, a letter "
                                     "first");
  }
  YamlFields fields(*entry.value, path, draft.faults);
  SecretSpec secret;
  secret.name = entry.key;
  draft.reading.places[path] = draft.faults.where(entry.mark);
  if (const YamlNode* from = fields.need("from")) {
    draft.note(path + ".from", from);
    const auto source = readSource(*from, path + ".from", draft.folder, draft.faults);
    if (source) secret.from = *source;
  }
  secret.provider = fields.text("provider").value_or(entry.key);
  draft.note(path + ".provider", fields.find("provider"));
  if (const YamlNode* url = fields.find("base_url")) {
    draft.note(path + ".base_url", url);
    secret.base_url = readUrl(*url, path + ".base_url", draft.faults);
  }
  secret.ca_file = readFilePath(fields, "ca_file", draft);
  if (const YamlNode* inject = fields.find("inject")) {
    draft.note(path + ".inject", inject);
    readInject(*inject, path + ".inject", secret, draft);
  }
  fields.finish();
  draft.reading.job.secrets.push_back(std::move(secret));
}

void readCollector(const YamlNode& node, const std::string& path, Draft& draft) {
  YamlFields fields(node, path, draft.faults);
  CollectorSpec collector;
  if (const YamlNode* url = fields.need("collector")) {
    draft.note(path + ".collector", url);
    collector.url = readUrl(*url, path + ".collector", draft.faults);
  }
  if (const YamlNode* token = fields.need("token")) {
    draft.note(path + ".token", token);
    const auto source = readSource(*token, path + ".token", draft.folder, draft.faults);
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

void readSecrets(const YamlNode& node, Draft& draft) {
  if (node.kind != YamlNode::Kind::Mapping) {
    draft.faults.add(
        node, "secrets takes names with their sources; this is " + std::string(base::kindOf(node)));
    return;
  }
  if (node.entries.size() > kMostSecrets) {
    draft.faults.add(node, "secrets has more than 16 entries");
    return;
  }
  for (const base::YamlEntry& entry : node.entries) readSecret(entry, draft);
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
  if (list->kind != YamlNode::Kind::Sequence || list->items.empty() ||
      list->items.size() > kMostMarks) {
    draft.faults.add(*list, "memory.warn_at takes a list of 1 to 10 marks, such as [70%, 90%]");
    return;
  }
  std::vector<int> marks;
  for (const base::YamlPointer& item : list->items) {
    const auto word = base::yamlWord(*item, "memory.warn_at", draft.faults);
    if (!word) continue;
    const auto mark = base::parsePercent(*word);
    if (!mark) {
      draft.faults.add(*item, "memory.warn_at: " + mark.error().sentence());
    } else if (!marks.empty() && *mark <= marks.back()) {
      draft.faults.add(*item, "memory.warn_at must rise, such as [70%, 80%, 90%]");
    } else {
      marks.push_back(*mark);
    }
  }
  draft.reading.job.memory.warn_at_percent = std::move(marks);
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
