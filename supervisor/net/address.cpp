#include "supervisor/net/address.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace warder::net {

namespace ip = boost::asio::ip;

namespace {

struct Block4 {
  std::uint32_t network;
  int bits;
  AddressUse use;
};

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

constexpr AddressUse kMetadata{Reach::NamedAddress, "cloud metadata"};
constexpr AddressUse kPrivate{Reach::NamedHost, "private"};
constexpr AddressUse kDocumentation{Reach::NamedHost, "documentation"};
constexpr AddressUse kThisNetwork{Reach::Nobody, "this network"};
constexpr AddressUse kLoopback{Reach::NamedHost, "loopback"};
constexpr AddressUse kReserved{Reach::Nobody, "reserved"};
constexpr AddressUse kMulticast{Reach::Nobody, "multicast"};
constexpr AddressUse kLinkLocal{Reach::NamedAddress, "link-local"};

/// The first block that holds an address counts.
constexpr std::array kBlocks4 = {
    Block4{v4(100, 100, 100, 200), 32, kMetadata},  // Alibaba
    Block4{v4(168, 63, 129, 16), 32, kMetadata},    // Azure
    Block4{v4(169, 254, 169, 254), 32, kMetadata},  // nearly everybody
    Block4{v4(192, 0, 0, 192), 32, kMetadata},      // Oracle
    Block4{v4(0, 0, 0, 0), 8, kThisNetwork},
    Block4{v4(10, 0, 0, 0), 8, kPrivate},
    Block4{v4(100, 64, 0, 0), 10, {Reach::NamedHost, "carrier-grade NAT"}},
    Block4{v4(127, 0, 0, 0), 8, kLoopback},
    Block4{v4(169, 254, 0, 0), 16, kLinkLocal},
    Block4{v4(172, 16, 0, 0), 12, kPrivate},
    Block4{v4(192, 0, 0, 0), 24, {Reach::NamedAddress, "protocol assignments"}},
    Block4{v4(192, 0, 2, 0), 24, kDocumentation},
    Block4{v4(192, 88, 99, 0), 24, {Reach::NamedAddress, "6to4 relay"}},
    Block4{v4(192, 168, 0, 0), 16, kPrivate},
    Block4{v4(198, 18, 0, 0), 15, {Reach::Nobody, "benchmarking"}},
    Block4{v4(198, 51, 100, 0), 24, kDocumentation},
    Block4{v4(203, 0, 113, 0), 24, kDocumentation},
    Block4{v4(224, 0, 0, 0), 4, kMulticast},
    Block4{v4(240, 0, 0, 0), 4, kReserved},
};

AddressUse useOf4(std::uint32_t address) {
  for (const Block4& block : kBlocks4) {
    const std::uint32_t mask = ~std::uint32_t{0} << (32 - block.bits);
    if ((address & mask) == block.network) return block.use;
  }
  return {};
}

using Bytes6 = ip::address_v6::bytes_type;

struct Block6 {
  Bytes6 network;
  int bits;
  AddressUse use;
  int inner = -1;  // first byte of the IPv4 address that it carries; -1: none
};

constexpr std::array kBlocks6 = {
    Block6{{}, 128, kThisNetwork},
    Block6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, kLoopback},
    Block6{{0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, kMetadata},
    Block6{{0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, kMetadata},
    Block6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
           96,
           {Reach::NamedHost, "IPv4-mapped or reserved"},
           12},
    Block6{{}, 80, {Reach::Nobody, "IPv4-mapped or reserved"}},
    Block6{{0x00, 0x64, 0xff, 0x9b}, 96, {}, 12},
    // RFC 8215: the provider chooses where the IPv4 address stands; /96, where it stands last, is
    // what everybody uses.
    Block6{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, {Reach::NamedHost, "local NAT64"}, 12},
    Block6{{0x01, 0x00}, 8, {Reach::Nobody, "discard or reserved"}},
    Block6{{0x20, 0x01, 0x0d, 0xb8}, 32, kDocumentation},
    Block6{{0x20, 0x01, 0x00}, 23, {Reach::NamedAddress, "Teredo or protocol assignments"}},
    Block6{{0x20, 0x02}, 16, {Reach::NamedHost, "6to4"}, 2},
    Block6{{0x3f, 0xff, 0x00}, 20, kDocumentation},
    Block6{{0xfc}, 7, {Reach::NamedHost, "unique local"}},
    Block6{{0xfe, 0x80}, 10, kLinkLocal},
    Block6{{0xfe, 0xc0}, 10, {Reach::NamedHost, "site-local"}},
    Block6{{0xff}, 8, kMulticast},
};

bool within(const Bytes6& address, const Block6& block) {
  int left = block.bits;
  for (std::size_t i = 0; left > 0; ++i, left -= 8) {
    const int shift = left >= 8 ? 0 : 8 - left;
    if (address[i] >> shift != block.network[i] >> shift) return false;
  }
  return true;
}

AddressUse useOf6(const Bytes6& bytes) {
  for (const Block6& block : kBlocks6) {
    if (!within(bytes, block)) continue;
    if (block.inner < 0) return block.use;
    const auto at = static_cast<std::size_t>(block.inner);
    const AddressUse inner = useOf4(v4(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]));
    return {std::max(block.use.reach, inner.reach),
            block.use.use.empty() ? inner.use : block.use.use};
  }
  // 2000::/3 is all that was ever given out as global unicast.
  if (bytes[0] >> 5 != 1) return kReserved;
  return {};
}

}  // namespace

AddressUse useOf(const ip::address& address) {
  return address.is_v4() ? useOf4(address.to_v4().to_uint()) : useOf6(address.to_v6().to_bytes());
}

std::string_view specialUse(const ip::address& address) {
  return useOf(address).use;
}

}  // namespace warder::net
