// DHCP as bytes (RFC 2131, RFC 2132): what a client says, and what a server's answer holds. Pure;
// answers come from the network and are believed in nothing but their form.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/boot/settings.h"

namespace warder::boot {

using HardwareAddress = std::array<std::uint8_t, 6>;

enum class DhcpType : std::uint8_t { Discover = 1, Offer = 2, Request = 3, Ack = 5, Nak = 6 };

inline constexpr std::size_t kShortestDhcp = 240;  // fixed fields and the magic cookie
inline constexpr std::size_t kLongestDhcp = 1472;  // what an Ethernet frame carries

struct DhcpClient {
  std::uint32_t transaction = 0;
  HardwareAddress hardware{};
  std::string host;
};

struct DhcpAnswer {
  DhcpType type = DhcpType::Offer;
  StaticAddress address;         // of an Offer or Ack
  Ipv4 server;                   // the server's identifier
  std::vector<std::string> dns;  // at most kMostNameServers
  std::uint32_t lease = 0;       // seconds; 0 when the server says none
};

/// A Discover, or the Request for what `offer` said. Asks for a broadcast answer, because nobody
/// can send to an address that we do not have yet.
std::string writeDhcp(const DhcpClient& client, const std::optional<DhcpAnswer>& offer);

/// Errors: Peer, for bytes that are no answer to this client: too short or long, another's
/// transaction or hardware address, an option that runs past the end, no or a wrong mask.
base::Result<DhcpAnswer> readDhcp(std::string_view bytes, const DhcpClient& client);

}  // namespace warder::boot
