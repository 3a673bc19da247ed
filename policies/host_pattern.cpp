#include "policies/host_pattern.h"

#include <limits>

namespace warder::policies {

bool matchesHost(std::string_view pattern, std::string_view host) {
  if (pattern.substr(0, 2) != "*.") return pattern == host;
  // A pattern is for names: "*.1" shall not match 10.0.0.1, and an IPv6 literal has no labels.
  const std::string_view suffix = pattern.substr(1);
  return host.size() > suffix.size() && host.substr(host.size() - suffix.size()) == suffix;
}

bool isAddress(std::string_view host) {
  return host.find(':') != std::string_view::npos ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::size_t specificity(std::string_view pattern) {
  if (pattern.substr(0, 2) != "*.") return std::numeric_limits<std::size_t>::max();
  return pattern.size();
}

}  // namespace warder::policies
