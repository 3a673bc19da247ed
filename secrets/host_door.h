// Doors at which the agent names a host: by the address it dials, or to a proxy.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "secrets/dns/stub.h"
#include "secrets/shared.h"

namespace warder::secrets {

/// A connection that the agent's network handed over: the socket's own address is what was dialled.
/// A synthetic address is a name; any other one is an IP literal. Port 53 is the name server's.
boost::asio::awaitable<void> serveTransparent(std::shared_ptr<Shared> shared,
                                              boost::asio::ip::tcp::socket socket,
                                              std::shared_ptr<dns::Stub> names);

/// A connection to the proxy: CONNECT (RFC 9110 section 9.3.6) or requests in absolute form. User
/// info and Proxy-Authorization count for nothing.
boost::asio::awaitable<void> serveProxy(std::shared_ptr<Shared> shared,
                                        boost::asio::ip::tcp::socket socket);

}  // namespace warder::secrets
