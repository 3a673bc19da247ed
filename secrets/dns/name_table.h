// Names of this run and the addresses that stand for them in the agent's network.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace warder::dns {

/// Names that get addresses in a run; one more is answered SERVFAIL. No address is used again.
inline constexpr std::size_t kMostNames = 32'768;

struct SyntheticAddresses {
  boost::asio::ip::address_v4 v4;  // of 198.18.0.0/15 (RFC 2544: for tests, routed nowhere)
  boost::asio::ip::address_v6 v6;  // of fd57:4152:4445:5200::/64 (RFC 4193: nobody else's)
};

/// Each name has one address of each family until the run's end, and an address is one name's:
/// who dials it can only mean that name. Made for one thread.
class NameTable {
 public:
  explicit NameTable(std::size_t most_names = kMostNames) : most_names_(most_names) {}
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;

  /// The addresses of a canonical host name, which are made when it is new. nullopt: the table is
  /// full and does not have the name.
  std::optional<SyntheticAddresses> addressesOf(std::string_view name);
  /// The name that has this address (also as an IPv4-mapped one); empty if none has. Valid as long
  /// as the table.
  std::string_view nameOf(const boost::asio::ip::address& address) const;
  std::size_t size() const { return names_.size(); }

 private:
  std::size_t most_names_;
  std::deque<std::string> names_;  // addresses of elements stay
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

/// Lies the address in one of the two ranges? Then it is a name's or nobody's, never a destination
/// of its own.
bool isSynthetic(const boost::asio::ip::address& address);

}  // namespace warder::dns
