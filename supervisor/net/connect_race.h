// One TCP connection out of several addresses of a host: RFC 8305, "Happy Eyeballs".
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <optional>
#include <vector>

namespace warder::net {

/// RFC 8305, section 5: how long an attempt is silent before the next one starts beside it.
inline constexpr std::chrono::milliseconds kAttemptDelay{250};
/// Addresses of a name that are tried; a name server may answer with thousands.
inline constexpr std::size_t kMostAddresses = 32;

/// Alternates between IPv4 and IPv6, beginning with the family of the first; otherwise the order
/// stays. At most kMostAddresses.
std::vector<boost::asio::ip::address> familiesInTurn(std::vector<boost::asio::ip::address> all);

struct Connected {
  std::optional<boost::asio::ip::tcp::socket> socket;  // keep-alive is on
  bool timed_out = false;
  boost::system::error_code failure;  // of the last attempt that failed
};

/// Connects to `places` in their order: the next one starts when one fails, or is silent for
/// kAttemptDelay. The first that connects wins, all others are closed. No other place is dialled.
boost::asio::awaitable<Connected> connectToAny(std::vector<boost::asio::ip::tcp::endpoint> places,
                                               std::chrono::milliseconds timeout);

}  // namespace warder::net
