// The first bytes of a connection: who speaks?
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string>

#include "secrets/ca/client_hello.h"

namespace warder::secrets {

struct Opening {
  /// Other: neither TLS nor HTTP, or nothing in time. Gone: the agent left without a word.
  enum class Kind { Tls, Http, Other, Gone };
  Kind kind = Kind::Gone;
  ca::ClientHello hello;  // Tls
  std::string fault;      // Other: what is wrong
};

/// Reads into `early` until it is clear. Both must outlive the call.
boost::asio::awaitable<Opening> readOpening(boost::asio::ip::tcp::socket* socket,
                                            std::string* early, std::chrono::milliseconds limit);

struct ProxyOpening {
  bool gone = false;
  bool connect = false;  // the first request is a well-formed CONNECT
  std::string target;
  std::size_t head_length = 0;
};
/// Reads the first head that comes to a proxy, which stays in `early`.
boost::asio::awaitable<ProxyOpening> readProxyOpening(boost::asio::ip::tcp::socket* socket,
                                                      std::string* early,
                                                      std::chrono::milliseconds limit);

}  // namespace warder::secrets
