// TLS over a connected socket, as a client or as a server. OpenSSL reads and writes the socket
// itself, so that an idle connection keeps no record buffers, and nothing is copied on the way.
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
  int peer_alert = -1;  // the alert that the other end gave as its reason (RFC 8446, 6.2), or -1
  int reason = 0;       // OpenSSL's reason (SSL_R_…), or 0
  std::string failure;  // the verify reason where there is one, else OpenSSL's or the kernel's
};

/// Speaks TLS as a client and checks that `host` is who answers.
boost::asio::awaitable<TlsHandshake> startTls(boost::asio::ip::tcp::socket socket,
                                              std::shared_ptr<boost::asio::ssl::context> context,
                                              std::string host, std::chrono::milliseconds timeout);

/// Speaks TLS as a server. `already_read` is what was taken from the socket to see who speaks: it
/// comes before everything that the socket still gives. The connection says close_notify when it is
/// closed, or when writing ends, since some peers read an answer up to there.
boost::asio::awaitable<TlsHandshake> answerTls(boost::asio::ip::tcp::socket socket,
                                               std::string already_read,
                                               std::shared_ptr<boost::asio::ssl::context> context,
                                               std::chrono::milliseconds timeout);

}  // namespace warder::net
