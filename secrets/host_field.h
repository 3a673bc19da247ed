// What a Host header or an authority names. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warder::secrets {

struct HostAndPort {
  std::string host;  // canonical name or IP literal without brackets
  std::uint16_t port = 0;
};

/// "host", "host:port", "[v6]:port" without user info; nullopt for anything else.
std::optional<HostAndPort> readHostAndPort(std::string_view text, std::uint16_t default_port);

/// localhost, a name below it, or a loopback address.
bool isLoopbackHost(std::string_view canonical_host);

}  // namespace warder::secrets
