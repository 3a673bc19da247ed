// canonicalHost: one spelling for each host, so that the string that is checked is the string that
// is dialled.
#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "policies/policy.h"

namespace warder::policies {
namespace {

constexpr std::size_t kLongestName = 253;  // RFC 1035 section 2.3.4, without the final dot
constexpr std::size_t kLongestLabel = 63;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLetterOrDigit(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z');
}

/// Letters, digits, hyphen inside; an underscore only in front (service names such as _dns).
bool isLabel(std::string_view label) {
  if (!label.empty() && label.front() == '_') label.remove_prefix(1);
  if (label.empty() || label.size() > kLongestLabel) return false;
  if (label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(),
                     [](char c) { return isLetterOrDigit(c) || c == '-'; });
}

/// Some resolvers read "127.1", "2130706433" and "0x7f.1" as addresses; a name whose last label
/// looks so is an exact IPv4 address or nothing. Source: WHATWG URL, "ends in a number checker".
bool endsInNumber(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  return !last.empty() && isDigit(last.front()) &&
         (std::all_of(last.begin(), last.end(), isDigit) || last.substr(0, 2) == "0x");
}

std::string canonicalV4(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return {};
  std::array<char, INET_ADDRSTRLEN> shown{};
  inet_ntop(AF_INET, &address, shown.data(), shown.size());
  return shown.data() == text ? text : std::string{};  // refuses leading zeros
}

std::string canonicalV6(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return {};
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    std::array<char, INET_ADDRSTRLEN> shown{};
    inet_ntop(AF_INET, &address.s6_addr[12], shown.data(), shown.size());
    return shown.data();
  }
  std::array<char, INET6_ADDRSTRLEN> shown{};
  inet_ntop(AF_INET6, &address, shown.data(), shown.size());
  return shown.data();
}

bool areLabels(std::string_view name) {
  while (true) {
    const std::size_t dot = name.find('.');
    if (!isLabel(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string canonicalHost(std::string_view name) {
  // Longer than any name; also stops a NUL from cutting the text for inet_pton.
  if (name.empty() || name.size() > kLongestName + 2) return {};
  if (name.find('\0') != std::string_view::npos) return {};
  if (name.front() == '[') {
    if (name.back() != ']') return {};
    return canonicalV6(std::string(name.substr(1, name.size() - 2)));
  }
  if (name.find(':') != std::string_view::npos) return canonicalV6(std::string(name));
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (lower.back() == '.') lower.pop_back();
  if (lower.empty() || lower.size() > kLongestName) return {};
  if (endsInNumber(lower)) return canonicalV4(lower);
  return areLabels(lower) ? lower : std::string{};
}

}  // namespace warder::policies
