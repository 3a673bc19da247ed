// `secrets:` of a job file: names, sources, and how each secret is carried.
#include <algorithm>

#include "supervisor/job/fields.h"
#include "supervisor/job/sections.h"

namespace warder::job {
namespace {

using base::inQuotes;
using base::YamlFields;
using base::YamlNode;

constexpr std::size_t kMostSecrets = 16;  // each has a door with two listeners

/// [a-z][a-z0-9-]*, at most 32: becomes part of variable names and of events.
bool isSecretName(const std::string& name) {
  if (name.empty() || name.size() > 32 || name[0] < 'a' || name[0] > 'z') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
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
    const auto source = readSecretSource(*from, path + ".from", draft.folder, draft.faults);
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
  readTerms(fields, secret, draft);
  fields.finish();
  draft.reading.job.secrets.push_back(std::move(secret));
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

}  // namespace warder::job
