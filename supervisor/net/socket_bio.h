// How OpenSSL reaches a socket of Asio's: bytes that were read before come first, and no write
// raises SIGPIPE.
#pragma once
#include <openssl/bio.h>

#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace warder::net {

/// Outlives the BIO made for it.
struct SocketEnd {
  boost::asio::ip::tcp::socket socket;
  std::string early;  // given before anything of the socket
  std::size_t early_taken = 0;
  bool ended = false;  // the peer ended its side
};

/// A BIO over `end`, whose socket must not block. Null when memory is out.
BIO* makeSocketBio(SocketEnd& end);

}  // namespace warder::net
