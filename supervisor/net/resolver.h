// Names to addresses by c-ares, driven by the caller's io_context: no thread, no NSS.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <string>
#include <vector>

namespace warder::net {

struct Resolution {
  /// IPv6 first, each family in the order of RFC 6724, without doubles.
  std::vector<boost::asio::ip::address> addresses;
  bool timed_out = false;
  std::string failure;  // c-ares's reason when there is no address
};

/// A and AAAA of `host`; /etc/hosts first, then the servers of /etc/resolv.conf, both read anew
/// for each lookup so that a changed file is seen. A server that ignores one of the two questions
/// costs 50 ms (AAAA) or 1 s (A), not the timeout.
boost::asio::awaitable<Resolution> resolve(std::string host, std::chrono::milliseconds timeout);

}  // namespace warder::net
