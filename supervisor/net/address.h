// Which addresses are not the public internet. Pure; the table is in the test.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <string_view>

namespace warder::net {

/// What an address is for when it is not a public unicast address ("private", "loopback",
/// "link-local", "carrier-grade NAT", …); empty for a public one. An address that carries an IPv4
/// address inside (NAT64) is judged by that one; IPv4-mapped, 6to4 and Teredo are never public.
/// Source: IANA IPv4 and IPv6 Special-Purpose Address Registries; clouds' metadata addresses.
std::string_view specialUse(const boost::asio::ip::address& address);

}  // namespace warder::net
