#include "policies/policy_reader.h"

#include <algorithm>
#include <span>

#include "policies/path_glob.h"
#include "supervisor/base/embedded.h"
#include "supervisor/base/regular_file.h"
#include "supervisor/base/yaml_fields.h"
#include "supervisor/base/yaml_scalar.h"

namespace warder::policies {

std::span<const base::EmbeddedFile> shipped_policies();
std::span<const base::EmbeddedFile> policy_schemas();

namespace {

using base::inQuotes;
using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

constexpr std::size_t kMostRules = 1000;      // of each list; a match walks all of them
constexpr std::size_t kLongestPattern = 256;  // bytes of a path glob; matching costs path × glob
constexpr std::size_t kMostPatterns = 100;    // of one rule

/// Canonical host or "*.name"; leaves a fault and gives an empty string otherwise.
std::string readHost(std::string_view written, const YamlNode& at, YamlFaults& faults) {
  if (written.find("://") != std::string_view::npos) {
    faults.add(at, "host " + inQuotes(written) +
                       " has a scheme; a host is written without one, as example.org, and a path "
                       "stands under paths");
    return {};
  }
  const bool below = written.substr(0, 2) == "*.";
  const std::string_view name = below ? written.substr(2) : written;
  if (name.find('*') != std::string_view::npos) {
    faults.add(at, "host " + inQuotes(written) +
                       ": a star stands only in front, as *.example.org; nothing allows all hosts");
    return {};
  }
  const std::string host = canonicalHost(name);
  const bool is_address = host.find(':') != std::string::npos ||
                          host.find_first_not_of("0123456789.") == std::string::npos;
  if (host.empty() || (below && is_address)) {
    faults.add(at, "host " + inQuotes(written) +
                       " is no host name (letters, digits, hyphens, dots) and no IP address");
    return {};
  }
  return below ? "*." + host : host;
}

std::string whereOf(const YamlFaults& faults, const YamlNode& node) {
  return faults.file() + ":" + std::to_string(node.mark.line);
}

/// "host", "host:port", "[v6]" or "[v6]:port".
Rule readShortRule(const YamlNode& node, const std::string& path, YamlFaults& faults) {
  Rule rule;
  rule.where = whereOf(faults, node);
  const auto text = base::yamlText(node, path, faults);
  if (!text) return rule;
  std::string_view host = *text;
  if (host.find("://") != std::string_view::npos) {
    readHost(host, node, faults);  // which says why not
    return rule;
  }
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  const bool has_port =
      colon != std::string_view::npos &&
      (bracket == std::string_view::npos ? host.find(':') == colon : colon == bracket + 1);
  if (has_port) {
    const std::string_view digits = host.substr(colon + 1);
    host = host.substr(0, colon);
    const bool usable = base::isPlainDecimal(digits) && digits.size() <= 5 && digits != "0" &&
                        std::stoul(std::string(digits)) <= 65535;
    if (!usable) {
      faults.add(node, path + ": port " + inQuotes(digits) + " is no number from 1 to 65535");
      return rule;
    }
    rule.port = static_cast<std::uint16_t>(std::stoul(std::string(digits)));
  } else if (colon != std::string_view::npos && bracket == std::string_view::npos) {
    faults.add(node, path + ": write an IPv6 address in brackets, as \"[" + *text + "]\"");
    return rule;
  }
  rule.host = readHost(host, node, faults);
  return rule;
}

void checkMethod(const std::string& method, const YamlNode& at, YamlFaults& faults) {
  const bool fine = !method.empty() && method.size() <= 32 &&
                    std::all_of(method.begin(), method.end(),
                                [](char c) { return (c >= 'A' && c <= 'Z') || c == '-'; });
  if (!fine) faults.add(at, "method " + inQuotes(method) + " is none; write upper case, as POST");
}

bool isAscii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

std::string percentEncoded(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : path) {
    if (isAscii(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return encoded;
}

void checkPath(const std::string& path, const YamlNode& at, YamlFaults& faults) {
  if (path.size() > kLongestPattern) {
    faults.add(at, "path " + inQuotes(path) + " is longer than 256 bytes");
  } else if (!std::all_of(path.begin(), path.end(), isAscii)) {
    faults.add(at,
               "path " + inQuotes(path) +
                   " has a character that no request can have in its path; percent-encode it: " +
                   inQuotes(percentEncoded(path)));
  } else if (!isPlainPath(path) || path.find_first_of("?#") != std::string::npos) {
    faults.add(at,
               "path " + inQuotes(path) +
                   " must begin with / and have no query, fragment, space, backslash, empty, . or "
                   ".. segment, and no escape of a plain character");
  }
}

using Check = void (*)(const std::string&, const YamlNode&, YamlFaults&);

std::vector<std::string> readPatterns(YamlFields& fields, const std::string& key, Check check,
                                      YamlFaults& faults) {
  const YamlNode* node = fields.find(key);
  if (node == nullptr) return {};
  const auto texts = base::yamlTexts(*node, fields.name(key), faults);
  if (!texts) return {};
  if (texts->empty()) {
    faults.add(*node, fields.name(key) + " is empty; leave the key out to mean any");
  }
  if (texts->size() > kMostPatterns) {
    faults.add(*node, fields.name(key) + " has more than 100 entries");
  }
  for (std::size_t i = 0; i < texts->size(); ++i) check((*texts)[i], *node->items[i], faults);
  return *texts;
}

Rule readLongRule(const YamlNode& node, const std::string& path, YamlFaults& faults) {
  Rule rule;
  rule.where = whereOf(faults, node);
  YamlFields fields(node, path, faults);
  const YamlNode* host_node = fields.need("host");
  if (host_node != nullptr) {
    const auto host = base::yamlText(*host_node, fields.name("host"), faults);
    if (host) rule.host = readHost(*host, *host_node, faults);
  }
  if (const auto port = fields.integer("port", {1, 65535})) {
    rule.port = static_cast<std::uint16_t>(*port);
  }
  rule.methods = readPatterns(fields, "methods", checkMethod, faults);
  rule.paths = readPatterns(fields, "paths", checkPath, faults);
  fields.finish();
  return rule;
}

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
    rules.push_back(item.kind == YamlNode::Kind::Mapping ? readLongRule(item, path, faults)
                                                         : readShortRule(item, path, faults));
  }
  return rules;
}

/// `use: [NAME]`: the rules of shipped policies, after the policy's own.
void addUsed(YamlFields& fields, Policy& policy, YamlFaults& faults) {
  const YamlNode* node = fields.find("use");
  const auto names = fields.texts("use");
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    const YamlNode& item = *node->items[i];
    auto used = readShippedPolicy((*names)[i], whereOf(faults, item));
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
