#include "policies/policy_reader.h"

#include <algorithm>
#include <span>

#include "policies/contradictions.h"
#include "policies/rule_reader.h"
#include "supervisor/base/embedded.h"
#include "supervisor/base/regular_file.h"
#include "supervisor/base/yaml_fields.h"

namespace warder::policies {

std::span<const base::EmbeddedFile> shipped_policies();
std::span<const base::EmbeddedFile> policy_schemas();

namespace {

using base::inQuotes;
using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

constexpr std::size_t kMostRules = 1000;  // of each list; a match walks all of them

std::vector<Rule> readRules(YamlFields& fields, const std::string& key, YamlFaults& faults) {
  std::vector<Rule> rules;
  const YamlNode* node = fields.find(key);
  if (node == nullptr) return rules;
  if (node->kind != YamlNode::Kind::Sequence) {
    faults.add(*node, fields.name(key) + " takes a list of rules; this is " +
                          std::string(base::kindOf(*node)));
    return rules;
  }
  if (node->items.size() > kMostRules) {
    faults.add(*node, fields.name(key) + " has more than 1000 rules");
    return rules;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const YamlNode& item = *node->items[i];
    const std::string path = fields.name(key) + "[" + std::to_string(i) + "]";
    const RuleList list = key == "deny" ? RuleList::Deny : RuleList::Allow;
    rules.push_back(readRule(item, {path, list}, faults));
  }
  return rules;
}

/// `use: [NAME]`: the rules of shipped policies, after the policy's own.
void addUsed(YamlFields& fields, Policy& policy, YamlFaults& faults) {
  const YamlNode* node = fields.find("use");
  const auto names = fields.texts("use");
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    const YamlNode& item = *node->items[i];
    const std::string place = faults.file() + ":" + std::to_string(item.mark.line);
    auto used = readShippedPolicy((*names)[i], place);
    if (!used.faults.empty()) {
      faults.add(item, used.faults.front().sentence);
      continue;
    }
    for (auto& rule : used.policy.allow) policy.allow.push_back(std::move(rule));
    for (auto& rule : used.policy.deny) policy.deny.push_back(std::move(rule));
  }
}

PolicyReading readFields(YamlFields& fields, const std::string& name, YamlFaults& faults) {
  PolicyReading reading;
  reading.policy.name = name;
  reading.policy.allow = readRules(fields, "allow", faults);
  reading.policy.deny = readRules(fields, "deny", faults);
  reading.policy.allow_degraded = fields.boolean("allow_degraded").value_or(false);
  addUsed(fields, reading.policy, faults);
  fields.finish();
  reading.faults = faults.list();
  if (reading.faults.empty()) reading.faults = contradictions(reading.policy);
  return reading;
}

}  // namespace

PolicyReading readPolicyText(std::string_view text, const std::string& file,
                             const std::string& name) {
  YamlFaults faults(file);
  const base::YamlPointer root = base::parseYaml(text, faults);
  if (!root) return {{name, {}, {}}, faults.list()};
  YamlFields fields(*root, "", faults);
  fields.needVersion();
  return readFields(fields, name, faults);
}

PolicyReading readPolicyFile(const std::string& path, const std::string& where) {
  const auto text = base::readRegularFile(path, base::kMaxYamlBytes);
  if (!text) return {{path, {}, {}}, {{where, "policy: " + text.error().sentence()}}};
  return readPolicyText(*text, path, path);
}

PolicyReading readInlinePolicy(const YamlNode& node, const std::string& file) {
  YamlFaults faults(file);
  YamlFields fields(node, "policy", faults);
  return readFields(fields, "inline", faults);
}

PolicyReading readShippedPolicy(const std::string& name, const std::string& where) {
  for (const base::EmbeddedFile& file : shipped_policies()) {
    if (file.name == name + ".yaml") return readPolicyText(file.text, name, name);
  }
  const std::vector<std::string> names = shippedPolicyNames();
  return {
      {name, {}, {}},
      {{where, "policy " + inQuotes(name) + " is not shipped (a file is named with a slash, as ./" +
                   name + ".yaml)" + base::suggestion(name, names)}}};
}

std::vector<std::string> shippedPolicyNames() {
  std::vector<std::string> names;
  for (const base::EmbeddedFile& file : shipped_policies()) {
    names.emplace_back(file.name.substr(0, file.name.rfind('.')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view policySchema() {
  return policy_schemas().front().text;
}

}  // namespace warder::policies
