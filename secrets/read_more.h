// Reading a connection without a buffer of its own: thousands of idle streams cost nothing.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <string>

#include "secrets/vault/secret_bytes.h"
#include "supervisor/net/connection.h"

namespace warder::secrets {

/// Most that one read takes.
inline constexpr std::size_t kLargestRead = 65'536;

/// Waits for at least one byte and appends what there is, at most kLargestRead. As readSome.
boost::asio::awaitable<net::ReadResult> readMore(net::Connection& connection, std::string& into);
boost::asio::awaitable<net::ReadResult> readMore(net::Connection& connection,
                                                 vault::WipedBytes& into);

}  // namespace warder::secrets
