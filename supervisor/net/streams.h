// The two kinds of Connection, for dial.cpp.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "supervisor/net/connection.h"

namespace warder::net {

struct TlsHandshake {
  std::unique_ptr<Connection> connection;  // null when it failed
  bool timed_out = false;
  std::string failure;  // the verify reason where there is one, else OpenSSL's or the kernel's
};

/// Speaks TLS as a client over a connected socket and checks that `host` is who answers.
boost::asio::awaitable<TlsHandshake> startTls(boost::asio::ip::tcp::socket socket,
                                              std::shared_ptr<boost::asio::ssl::context> context,
                                              std::string host, std::chrono::milliseconds timeout);

}  // namespace warder::net
