// Hosts of rules: exact names, addresses, and patterns for names below one.
#pragma once
#include <string>
#include <string_view>

namespace warder::policies {

/// `host` is canonical. By whole labels: "*.example.org" matches names with exactly one label more
/// (a.example.org), "**.example.org" with one or more (a.b.example.org too); neither matches
/// example.org or badexample.org.
bool matchesHost(std::string_view pattern, std::string_view host);

/// The name below which a pattern matches: "example.org"; an exact host as it is.
std::string_view nameBelow(std::string_view pattern);

/// Is `host` an IP literal? It is canonical, or a pattern.
bool isAddress(std::string_view host);

/// Greater for a pattern that matches fewer hosts: exact ones first, then the longest pattern, then
/// the one with fewer stars. Comparable only between patterns that match one and the same host.
std::size_t specificity(std::string_view pattern);

struct HostReading {
  std::string host;   // canonical, or a pattern; empty with a fault
  std::string fault;  // begins with the host in quotes, ends with what would be valid
};

/// The host of a rule, as a person writes it. Refused: what can match no host, what could be read
/// in two ways, and what stands for all hosts.
HostReading readHostPattern(std::string_view written);

}  // namespace warder::policies
