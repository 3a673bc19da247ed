#include "policies/rule_reader.h"

#include <algorithm>

#include "policies/host_pattern.h"
#include "policies/path_glob.h"
#include "policies/public_suffix.h"
#include "supervisor/base/yaml_fields.h"
#include "supervisor/base/yaml_scalar.h"

namespace warder::policies {
namespace {

using base::inQuotes;
using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

constexpr std::size_t kLongestPattern = 256;  // bytes of a path glob; matching costs path × glob
constexpr std::size_t kMostPatterns = 100;    // of one rule
constexpr std::uint16_t kHttpPort = 80;

/// Canonical host or pattern; leaves a fault and gives an empty string otherwise.
std::string readHost(std::string_view written, const YamlNode& at, YamlFaults& faults) {
  HostReading reading = readHostPattern(written);
  if (!reading.fault.empty()) faults.add(at, std::move(reading.fault));
  return std::move(reading.host);
}

/// Whoever writes "*.github.io" thinks of a company, and opens what its customers put there. A deny
/// rule may be as wide as it likes.
void checkSuffix(const Rule& rule, bool shared, const YamlNode& at, YamlFaults& faults) {
  const std::string name(nameBelow(rule.host));
  const bool below = name.size() < rule.host.size();
  const Suffix suffix = below ? suffixKind(name) : Suffix::None;
  const std::string fault = "host " + inQuotes(rule.host) + ": below " + name + " anybody can ";
  if (suffix == Suffix::Public) {
    faults.add(at, fault + "register a name; write the name of one owner, as " +
                       rule.host.substr(0, rule.host.size() - name.size()) + "example." + name);
  } else if (suffix == Suffix::Shared && !shared) {
    faults.add(at, fault +
                       "have a name or storage; list the names, or write shared_suffix: true "
                       "to allow all of them");
  } else if (suffix != Suffix::Shared && shared) {
    faults.add(at, "shared_suffix has no meaning for host " + inQuotes(rule.host) +
                       ", which is no pattern for names that anybody can have; leave it out");
  }
}

std::string whereOf(const YamlFaults& faults, const YamlNode& node) {
  return faults.file() + ":" + std::to_string(node.mark.line);
}

/// "host", "host:port", "[v6]" or "[v6]:port".
Rule readShortRule(const YamlNode& node, const RulePlace& place, YamlFaults& faults) {
  Rule rule;
  rule.where = whereOf(faults, node);
  const auto text = base::yamlText(node, place.path, faults);
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
      faults.add(node, place.path + ": port " + inQuotes(digits) + " is no number from 1 to 65535");
      return rule;
    }
    rule.port = static_cast<std::uint16_t>(std::stoul(std::string(digits)));
  } else if (colon != std::string_view::npos && bracket == std::string_view::npos) {
    faults.add(node, place.path + ": write an IPv6 address in brackets, as \"[" + *text + "]\"");
    return rule;
  }
  rule.host = readHost(host, node, faults);
  if (place.list == RuleList::Deny) return rule;
  if (!rule.host.empty()) checkSuffix(rule, false, node, faults);
  if (rule.port == kHttpPort) rule.flow = Flow::Plain;
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

/// One of `words`, also the bare word off, which some YAML parsers do not read as text; leaves a
/// fault and gives an empty string otherwise, and when the key is absent.
std::string readWord(YamlFields& fields, const std::string& key,
                     const std::vector<std::string>& words, YamlFaults& faults) {
  const YamlNode* node = fields.find(key);
  if (node == nullptr) return {};
  const auto word = base::yamlWord(*node, fields.name(key), faults);
  if (!word) return {};
  if (std::find(words.begin(), words.end(), *word) != words.end()) return *word;
  faults.add(*node, fields.name(key) + " " + inQuotes(*word) + " is not known" +
                        base::suggestion(*word, words));
  return {};
}

/// Each of the keys that stand here, but make no sense, for the reason that `why` completes.
void refuse(YamlFields& fields, const std::vector<std::string>& keys, const std::string& why,
            YamlFaults& faults) {
  for (const std::string& key : keys) {
    if (const YamlNode* node = fields.find(key)) {
      faults.add(*node, fields.name(key) + " has no meaning here: " + why);
    }
  }
}

void readFlow(YamlFields& fields, Rule& rule, RuleList list, YamlFaults& faults) {
  const std::string protocol = readWord(fields, "protocol", {"http", "tcp"}, faults);
  const std::string tls = readWord(fields, "tls", {"intercept", "tunnel", "off"}, faults);
  const bool shared = fields.boolean("shared_suffix").value_or(false);
  if (list == RuleList::Deny) {
    refuse(fields, {"protocol", "tls", "shared_suffix"},
           "a deny rule denies whatever flows; leave it out", faults);
    return;
  }
  if (!rule.host.empty()) checkSuffix(rule, shared, *fields.find("host"), faults);
  if (protocol == "tcp") {
    rule.flow = Flow::Tcp;
    refuse(fields, {"tls", "methods", "paths"},
           "protocol: tcp lets any bytes through, unread; leave it out", faults);
  } else if (tls == "tunnel") {
    rule.flow = Flow::Tunnel;
    refuse(fields, {"methods", "paths"},
           "a tunnel is not read; leave it out, or write tls: intercept", faults);
    if (!rule.host.empty() && isAddress(rule.host)) {
      faults.add(*fields.find("tls"), fields.name("tls") +
                                          " takes no tunnel to an address, since the name in its "
                                          "TLS hello is what is checked; write a host name");
    }
  } else if (tls == "off" || (tls.empty() && rule.port == kHttpPort)) {
    rule.flow = Flow::Plain;
  }
}

Rule readLongRule(const YamlNode& node, const RulePlace& place, YamlFaults& faults) {
  Rule rule;
  rule.where = whereOf(faults, node);
  YamlFields fields(node, place.path, faults);
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
  readFlow(fields, rule, place.list, faults);
  fields.finish();
  return rule;
}

}  // namespace

Rule readRule(const YamlNode& node, const RulePlace& place, YamlFaults& faults) {
  return node.kind == YamlNode::Kind::Mapping ? readLongRule(node, place, faults)
                                              : readShortRule(node, place, faults);
}

}  // namespace warder::policies
