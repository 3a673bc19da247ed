// A byte stream to another machine: plain TCP or TLS. One thread; one read and one write may be
// under way at the same time.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace warder::net {

struct ReadResult {
  std::size_t bytes = 0;  // 0 without a failure: the peer ended its side in good order
  boost::system::error_code failure;
};

class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  /// Waits for at least one byte. Failures: timed_out when the idle limit passed; for TLS, an end
  /// without close_notify is ssl::error::stream_truncated, not an end.
  boost::asio::awaitable<ReadResult> readSome(boost::asio::mutable_buffer into);
  /// What there is, without waiting; nullopt when that is nothing yet. Ends and failures as
  /// readSome's. With awaitReadable() a buffer is needed only once there are bytes for it.
  virtual std::optional<ReadResult> readNow(boost::asio::mutable_buffer into) = 0;
  /// Waits until readNow() may have something to say. Failures: timed_out, operation_aborted.
  virtual boost::asio::awaitable<boost::system::error_code> awaitReadable() = 0;
  /// Writes all of it. The bytes are read in place: no plaintext copy is kept (TLS encrypts into
  /// the record buffer).
  virtual boost::asio::awaitable<boost::system::error_code> writeAll(
      boost::asio::const_buffer bytes) = 0;
  /// What is written from now on may wait for release() to travel together. A hint.
  virtual void hold() = 0;
  virtual void release() = 0;
  /// Open, and the peer has said nothing that was not read: it can be used for a new request.
  virtual bool isQuiet() = 0;
  /// Ends our direction only: the peer reads to the end and may still answer. As a TLS server this
  /// is close_notify; as a client nothing is done, since servers take it for the end of both.
  virtual void endWriting() = 0;
  /// A pending read or write fails with timed_out when no byte moved in either direction for this
  /// long. Zero: never (the state at the start).
  virtual void setIdleLimit(std::chrono::milliseconds limit) = 0;
  /// Closes at once; pending operations fail with operation_aborted. Unsent bytes are still sent.
  /// A TLS server says close_notify first.
  virtual void close() = 0;
  /// Closes with a reset, so that the peer cannot take the cut for an orderly end.
  virtual void abort() = 0;
};

/// A connection that was accepted elsewhere. `already_read` is what was taken from it to see who
/// speaks; it is read again first.
std::unique_ptr<Connection> plainConnection(boost::asio::ip::tcp::socket socket,
                                            std::string already_read = {});

}  // namespace warder::net
