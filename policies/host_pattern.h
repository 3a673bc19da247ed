// Hosts of rules: exact names, addresses, and patterns for names below one.
#pragma once
#include <string>
#include <string_view>

namespace warder::policies {

/// `host` is canonical. By whole labels: "*.example.org" matches a.example.org, and neither
/// example.org nor badexample.org.
bool matchesHost(std::string_view pattern, std::string_view host);

/// Is `host` an IP literal? It is canonical, or a pattern.
bool isAddress(std::string_view host);

/// Greater for a pattern that matches fewer hosts: exact ones first, then the longest pattern.
/// Comparable only between patterns that match one and the same host.
std::size_t specificity(std::string_view pattern);

}  // namespace warder::policies
