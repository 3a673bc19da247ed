// One connection of the agent: request after request until one side has enough.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "secrets/door.h"
#include "supervisor/net/connection.h"

namespace warder::secrets {

/// Serves the connection to its end. `door` must outlive it.
boost::asio::awaitable<void> serveConnection(std::unique_ptr<net::Connection> connection,
                                             const Door* door);
/// Tells one connection too many that it is one (503, retry later), and ends it.
boost::asio::awaitable<void> refuseConnection(std::unique_ptr<net::Connection> connection,
                                              const Door* door);

}  // namespace warder::secrets
