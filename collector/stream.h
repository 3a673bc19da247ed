// The bytes of one connection, plain or TLS.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace warder::collector {

/// Server side of TLS; opaque here to keep OpenSSL out of headers.
class TlsContext;

class Stream {
 public:
  virtual ~Stream() = default;
  /// TLS handshake where there is one. False when the peer does not manage.
  virtual boost::asio::awaitable<bool> open() = 0;
  /// Adds what is there, at most `limit` bytes, to `into`; false at the end, on error or timeout.
  virtual boost::asio::awaitable<bool> readSome(std::string* into, std::size_t limit) = 0;
  /// False when not all could be written within the timeout of one step (kStepTimeout per 64 KiB).
  virtual boost::asio::awaitable<bool> writeAll(std::string_view bytes) = 0;
  /// Sends the end, then drops what still comes, for a moment, so that the peer gets to read the
  /// last answer before a reset.
  virtual boost::asio::awaitable<void> finish() = 0;
  /// Time for the next operation.
  virtual void expireAfter(std::chrono::milliseconds time) = 0;
  virtual void close() = 0;
};

std::unique_ptr<Stream> plainStream(boost::asio::ip::tcp::socket socket);
std::unique_ptr<Stream> tlsStream(boost::asio::ip::tcp::socket socket, TlsContext& context);

/// Reads a PEM certificate chain and its key. Errors: Config with OpenSSL's reason.
base::Result<std::shared_ptr<TlsContext>> makeTlsContext(const std::string& certificate_file,
                                                         const std::string& key_file);

}  // namespace warder::collector
