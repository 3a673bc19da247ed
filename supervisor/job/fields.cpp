#include "supervisor/job/fields.h"

#include <arpa/inet.h>

#include <algorithm>
#include <filesystem>

#include "supervisor/base/yaml_scalar.h"
#include "supervisor/job/preset.h"

namespace warder::job {
namespace {

using base::inQuotes;
using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

constexpr std::size_t kLongestVariable = 128;
constexpr std::size_t kLongestUrl = 2048;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool isLoopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]") return true;
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

bool isHostText(const std::string& host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    in6_addr address{};
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  }
  const auto fits = [](char c) { return isLetter(c) || isDigit(c) || c == '-' || c == '.'; };
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), fits) &&
         (isLetter(host.front()) || isDigit(host.front()));
}

bool isPort(std::string_view text) {
  return base::isPlainDecimal(text) && text.size() <= 5 && text != "0" &&
         std::stoul(std::string(text)) <= 65535;
}

}  // namespace

bool isVariableName(std::string_view name) {
  if (name.empty() || name.size() > kLongestVariable || isDigit(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return isLetter(c) || isDigit(c) || c == '_'; });
}

std::map<std::string, std::string> readEnvironment(const YamlNode& node, const std::string& path,
                                                   YamlFaults& faults) {
  std::map<std::string, std::string> variables;
  if (node.kind != YamlNode::Kind::Mapping) {
    faults.add(node, path + " takes NAME: value pairs; this is " + std::string(kindOf(node)));
    return variables;
  }
  for (const base::YamlEntry& entry : node.entries) {
    const std::string name = path + "." + entry.key;
    if (!isVariableName(entry.key)) {
      faults.add(entry.mark,
                 path + ": " + inQuotes(entry.key) + " is no name of an environment variable");
    }
    if (auto value = base::yamlText(*entry.value, name, faults)) variables[entry.key] = *value;
  }
  return variables;
}

std::string whyNoUrl(std::string_view url) {
  if (url.size() > kLongestUrl) return "is longer than 2048 bytes";
  const bool https = url.substr(0, 8) == "https://";
  if (!https && url.substr(0, 7) != "http://") return "must begin with https://";
  url.remove_prefix(https ? 8 : 7);
  const std::size_t slash = std::min(url.find('/'), url.size());
  const std::string_view authority = url.substr(0, slash);
  const std::string_view path = url.substr(slash);
  if (authority.find('@') != std::string_view::npos) {
    return "must not hold a user or password; credentials are secrets";
  }
  if (path.find_first_of("?#\\") != std::string_view::npos ||
      std::any_of(path.begin(), path.end(),
                  [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F; })) {
    return "must not have a query, a fragment, a backslash or a space";
  }
  const std::size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
  const std::string host(authority.substr(0, has_port ? colon : authority.size()));
  if (has_port && !isPort(authority.substr(colon + 1))) return "has a port that is not 1 to 65535";
  if (!isHostText(host)) return "has no valid host name";
  if (!https && !isLoopback(host)) {
    return "must begin with https://; http:// is for this machine's loopback only";
  }
  return {};
}

std::string readUrl(const YamlNode& node, const std::string& path, YamlFaults& faults) {
  const auto text = base::yamlText(node, path, faults);
  if (!text) return {};
  const std::string why = whyNoUrl(*text);
  if (!why.empty()) faults.add(node, path + ": " + inQuotes(*text) + " " + why);
  return *text;
}

std::optional<std::string> readPath(YamlFields& fields, const std::string& key,
                                    const std::string& folder, YamlFaults& faults) {
  const auto path = fields.text(key);
  if (!path) return std::nullopt;
  if (path->empty()) {
    faults.add(*fields.find(key), fields.name(key) + " is empty; it takes a path");
    return std::nullopt;
  }
  return absolutePath(folder, *path);
}

std::string absolutePath(const std::string& folder, const std::string& path) {
  const std::filesystem::path joined = std::filesystem::path(folder) / path;
  std::string normal = joined.lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

bool namesFile(std::string_view text) {
  const auto ends = [text](std::string_view suffix) {
    return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
  };
  return text.find('/') != std::string_view::npos || ends(".yaml") || ends(".yml");
}

}  // namespace warder::job
