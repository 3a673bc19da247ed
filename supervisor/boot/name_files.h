// The files by which programs know names: /etc/hosts and /etc/resolv.conf. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace warder::boot {

/// `existing` with what it lacks: localhost for v4 and v6, and the machine's own name. What an
/// image says about these names stays as it is.
std::string hostsWith(std::string_view existing, std::string_view host);

/// A resolv.conf(5) for these servers.
std::string resolvConf(const std::vector<std::string>& servers);

/// How many servers a resolv.conf(5) names.
std::size_t countNameServers(std::string_view text);

}  // namespace warder::boot
