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
  std::string_view use;
};

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

constexpr std::array kBlocks4 = {
    Block4{v4(0, 0, 0, 0), 8, "this network"},
    Block4{v4(10, 0, 0, 0), 8, "private"},
    Block4{v4(100, 64, 0, 0), 10, "carrier-grade NAT"},
    Block4{v4(127, 0, 0, 0), 8, "loopback"},
    Block4{v4(168, 63, 129, 16), 32, "cloud metadata"},
    Block4{v4(169, 254, 0, 0), 16, "link-local"},
    Block4{v4(172, 16, 0, 0), 12, "private"},
    Block4{v4(192, 0, 0, 0), 24, "protocol assignments"},
    Block4{v4(192, 0, 2, 0), 24, "documentation"},
    Block4{v4(192, 88, 99, 0), 24, "6to4 relay"},
    Block4{v4(192, 168, 0, 0), 16, "private"},
    Block4{v4(198, 18, 0, 0), 15, "benchmarking"},
    Block4{v4(198, 51, 100, 0), 24, "documentation"},
    Block4{v4(203, 0, 113, 0), 24, "documentation"},
    Block4{v4(224, 0, 0, 0), 4, "multicast"},
    Block4{v4(240, 0, 0, 0), 4, "reserved"},
};

std::string_view specialUse4(std::uint32_t address) {
  for (const Block4& block : kBlocks4) {
    const std::uint32_t mask = ~std::uint32_t{0} << (32 - block.bits);
    if ((address & mask) == block.network) return block.use;
  }
  return {};
}

struct Block6 {
  std::array<std::uint8_t, 12> network;  // no block of the table is longer than 96 bits
  int bits;
  std::string_view use;
};

constexpr std::array kBlocks6 = {
    Block6{{}, 80, "IPv4-mapped or reserved"},
    Block6{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, "local NAT64"},
    Block6{{0x01, 0x00}, 8, "discard or reserved"},
    Block6{{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    Block6{{0x20, 0x01, 0x00}, 23, "Teredo or protocol assignments"},
    Block6{{0x20, 0x02}, 16, "6to4"},
    Block6{{0x3f, 0xff, 0x00}, 20, "documentation"},
    Block6{{0xfc}, 7, "unique local"},
    Block6{{0xfe, 0x80}, 10, "link-local"},
    Block6{{0xfe, 0xc0}, 10, "site-local"},
    Block6{{0xff}, 8, "multicast"},
};

bool within(const ip::address_v6::bytes_type& address, const Block6& block) {
  int left = block.bits;
  for (std::size_t i = 0; left > 0; ++i, left -= 8) {
    const int shift = left >= 8 ? 0 : 8 - left;
    if (address[i] >> shift != block.network[i] >> shift) return false;
  }
  return true;
}

std::string_view specialUse6(const ip::address_v6& address) {
  if (address.is_loopback()) return "loopback";
  if (address.is_unspecified()) return "this network";
  const auto bytes = address.to_bytes();
  constexpr Block6 kNat64{{0x00, 0x64, 0xff, 0x9b}, 96, "NAT64"};
  if (within(bytes, kNat64)) return specialUse4(v4(bytes[12], bytes[13], bytes[14], bytes[15]));
  for (const Block6& block : kBlocks6)
    if (within(bytes, block)) return block.use;
  // 2000::/3 is all that was ever given out as global unicast.
  if (bytes[0] >> 5 != 1) return "reserved";
  return {};
}

}  // namespace

std::string_view specialUse(const ip::address& address) {
  return address.is_v4() ? specialUse4(address.to_v4().to_uint()) : specialUse6(address.to_v6());
}

}  // namespace warder::net
