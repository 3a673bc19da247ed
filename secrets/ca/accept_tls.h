// The agent's end of TLS: the broker is the server that the agent asked for.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/net/connection.h"

namespace warder::ca {

/// Why a program's handshake came to nothing. UntrustedCa: it does not believe the run's CA.
/// Validity: it holds the certificate for expired, so that its clock is not ours. NoHttp1: it
/// offers only protocols that are no HTTP/1. TooOld: it speaks nothing newer than TLS 1.1.
enum class TlsFailure { UntrustedCa, Validity, NoHttp1, TooOld, Gone, Timeout, Broken };

/// "untrusted_ca", "validity", "no_http1", "too_old", "gone", "timeout", "broken": as events spell
/// it.
std::string_view nameOf(TlsFailure failure);

struct Accepted {
  std::unique_ptr<net::Connection> connection;  // null when it failed
  TlsFailure failure = TlsFailure::Broken;      // when it failed
  std::string sentence;                         // what to do about it; safe to show
};

/// Ends TLS on `socket` with a context of RunAuthority. `already_read` is what was taken from the
/// socket before. Some programs (Node, GnuTLS's) judge a certificate after the handshake: theirs
/// succeeds here, and the connection then ends without a byte.
boost::asio::awaitable<Accepted> acceptTls(boost::asio::ip::tcp::socket socket,
                                           std::string already_read,
                                           std::shared_ptr<boost::asio::ssl::context> context,
                                           std::chrono::milliseconds timeout);

}  // namespace warder::ca
