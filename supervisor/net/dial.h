// How bytes leave this machine: resolve, check the address, connect, verify who answers.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/net/connection.h"

namespace warder::net {

struct Endpoint {
  bool tls = true;
  std::string host;  // a name or an IP literal without brackets
  std::uint16_t port = 443;
  std::string ca_file;  // PEM file of extra roots beside the system's; empty: none
};

struct DialRules {
  /// A rule or the job names this host: its private addresses may be dialled, and where the host is
  /// an address, that one unless nobody may (net/address.h, Reach).
  bool private_addresses = false;
  std::chrono::milliseconds timeout{10'000};  // for all of it; addresses share what is left
};

enum class DialFailure { Dns, AddressDenied, Refused, Timeout, Tls };

/// "dns", "address_denied", "refused", "timeout", "tls": as events spell it.
std::string_view nameOf(DialFailure why);

struct DialError {
  DialFailure why = DialFailure::Refused;
  std::string sentence;  // names host, port and the reason; safe to show to a person or a model
};

using Dialled = boost::system::result<std::unique_ptr<Connection>, DialError>;

/// Resolves with c-ares (/etc/hosts, then the configured servers; never NSS) at each call, so that
/// no answer outlives its connection; checks every address (net/address.h), and connects to exactly
/// a checked one: families in turn, the next when one fails or is silent for 250 ms, the first that
/// answers wins (RFC 8305). TCP keep-alive finds a peer that is gone. TLS: 1.2 or newer,
/// SNI and name check (IP literals: address check), roots of the system and `ca_file`, ALPN
/// http/1.1. A failed TLS handshake is final: it is an answer about who is there.
boost::asio::awaitable<Dialled> dial(Endpoint endpoint, DialRules rules);

[[noreturn]] void throw_exception_from_error(const DialError& error,
                                             const boost::source_location& where);

}  // namespace warder::net
