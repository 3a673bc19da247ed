// Which addresses are not the public internet, and who may have them dialled. Pure; the table is in
// the test.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <string_view>

namespace warder::net {

/// Who may have an address dialled; later ones need more. Public: whoever may reach the name.
/// NamedHost: only a rule or a job that names the host or the address (private, loopback, unique
/// local, carrier-grade NAT). NamedAddress: only one that names the address itself, so that no
/// answer of a name server leads there (metadata of clouds, link-local). Nobody: broadcast,
/// multicast, 0.0.0.0/8, which reaches this machine, and 198.18.0.0/15, whose addresses stand for
/// names in the agent's network.
enum class Reach { Public, NamedHost, NamedAddress, Nobody };

struct AddressUse {
  Reach reach = Reach::Public;
  std::string_view use;  // "private", "loopback", …; empty for a public unicast address
};

/// An address that carries an IPv4 address inside (IPv4-mapped, NAT64, 6to4) needs at least what
/// that one needs; of them only NAT64's well-known prefix can be public. Source: IANA IPv4 and IPv6
/// Special-Purpose Address Registries; documents of AWS, Azure, Google, Oracle and Alibaba about
/// their metadata addresses.
AddressUse useOf(const boost::asio::ip::address& address);

/// useOf(address).use.
std::string_view specialUse(const boost::asio::ip::address& address);

}  // namespace warder::net
