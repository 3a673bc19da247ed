// Bytes between two connections, unread.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>

#include "supervisor/net/connection.h"

namespace warder::secrets {

struct Relay {
  net::Connection& client;
  net::Connection& upstream;
  std::string early_from_client;    // read already, goes first
  std::string early_from_upstream;  // likewise
  std::uint64_t bytes_to_upstream = 0;
  std::uint64_t bytes_to_client = 0;
  bool timed_out = false;  // an idle limit of one of the connections ended it
};

/// Both directions until both have ended; the end of one is passed on and the other goes on
/// (half-close). A failure of either ends both. Closes both.
boost::asio::awaitable<void> relayBothWays(Relay& relay);

}  // namespace warder::secrets
