#include "secrets/dns/name_table.h"

#include <algorithm>

namespace warder::dns {

namespace ip = boost::asio::ip;

namespace {

constexpr std::uint32_t kFirstV4 = 0xc6120000;  // 198.18.0.0
constexpr std::uint32_t kMaskV4 = 0xfffe0000;
// "fd", then WARDE and R in ASCII: 40 bits of a global ID and a subnet.
constexpr ip::address_v6::bytes_type kPrefixV6 = {0xfd, 0x57, 0x41, 0x52, 0x44, 0x45, 0x52};
constexpr std::size_t kPrefixBytes = 8;

static_assert(kMostNames < ~kMaskV4);

/// The v6 address ends in the v4 address, so that a person sees that they are one name's.
ip::address_v6 v6Of(std::uint32_t v4) {
  ip::address_v6::bytes_type bytes = kPrefixV6;
  for (std::size_t i = 0; i < 4; ++i)
    bytes[12 + i] = static_cast<unsigned char>(v4 >> (8 * (3 - i)));
  return ip::address_v6(bytes);
}

/// The v4 form of a synthetic address; 0 for any other address.
std::uint32_t v4Of(const ip::address& address) {
  if (address.is_v4()) {
    const std::uint32_t value = address.to_v4().to_uint();
    return (value & kMaskV4) == kFirstV4 ? value : 0;
  }
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return v4Of(ip::address(ip::make_address_v4(ip::v4_mapped, v6)));
  const auto bytes = v6.to_bytes();
  std::uint32_t value = 0;
  for (std::size_t i = 12; i < bytes.size(); ++i) value = (value << 8) | bytes[i];
  return v6Of(value).to_bytes() == bytes ? v4Of(ip::address_v4(value)) : 0;
}

}  // namespace

std::optional<SyntheticAddresses> NameTable::addressesOf(std::string_view name) {
  auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    if (names_.size() >= most_names_) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(names_.size() + 1);  // 198.18.0.0 is nobody's
    found = numbers_.emplace(names_.emplace_back(name), number).first;
  }
  const std::uint32_t v4 = kFirstV4 + found->second;
  return SyntheticAddresses{ip::address_v4(v4), v6Of(v4)};
}

std::string_view NameTable::nameOf(const ip::address& address) const {
  const std::uint32_t v4 = v4Of(address);
  if (v4 == 0 || v4 == kFirstV4 || v4 - kFirstV4 > names_.size()) return {};
  return names_[v4 - kFirstV4 - 1];
}

bool isSynthetic(const ip::address& address) {
  if (v4Of(address) != 0) return true;
  if (!address.is_v6()) return false;
  const auto bytes = address.to_v6().to_bytes();
  return std::equal(kPrefixV6.begin(), kPrefixV6.begin() + kPrefixBytes, bytes.begin());
}

}  // namespace warder::dns
