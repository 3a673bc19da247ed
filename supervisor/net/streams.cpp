#include "supervisor/net/streams.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>

#include "supervisor/net/idle_watch.h"

namespace warder::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

template <class Stream>
class StreamConnection final : public Connection {
 public:
  explicit StreamConnection(Stream stream)
      : stream_(std::move(stream)), watch_(stream_.get_executor(), [this] { closeSocket(); }) {
    error_code ignored;
    stream_.lowest_layer().set_option(tcp::no_delay(true), ignored);
  }
  ~StreamConnection() override { closeSocket(); }

  Stream& stream() { return stream_; }

  asio::awaitable<ReadResult> readSome(asio::mutable_buffer into) override {
    const WatchedOperation operation(watch_);
    auto [failure, bytes] = co_await stream_.async_read_some(into, kAwait);
    ReadResult result{bytes, why(failure)};
    if (failure == asio::error::eof) result.failure = {};
    if (bytes > 0) watch_.moved();
    co_return result;
  }

  asio::awaitable<error_code> writeAll(asio::const_buffer bytes) override {
    const WatchedOperation operation(watch_);
    while (bytes.size() > 0) {
      // One buffer at a time: Asio hands it to SSL_write as it is, without copying it together.
      auto [failure, count] = co_await stream_.async_write_some(bytes, kAwait);
      if (failure) co_return why(failure);
      watch_.moved();
      bytes += count;
    }
    co_return error_code{};
  }

  void endWriting() override {
    error_code ignored;
    if constexpr (std::is_same_v<Stream, tcp::socket>)
      stream_.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void setIdleLimit(std::chrono::milliseconds limit) override { watch_.setLimit(limit); }
  void close() override { closeSocket(); }
  void abort() override {
    error_code ignored;
    stream_.lowest_layer().set_option(asio::socket_base::linger(true, 0), ignored);
    closeSocket();
  }

 private:
  error_code why(error_code failure) const {
    return failure && watch_.expired() ? asio::error::make_error_code(asio::error::timed_out)
                                       : failure;
  }
  void closeSocket() {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

  Stream stream_;
  IdleWatch watch_;
};

using TlsStream = asio::ssl::stream<tcp::socket>;

/// The name (or address) that the certificate must carry is checked inside OpenSSL's verification,
/// so that its reason reads "hostname mismatch". SNI is for names only (RFC 6066).
bool expectPeer(SSL* native, const std::string& host) {
  X509_VERIFY_PARAM* wanted = SSL_get0_param(native);
  error_code no_address;
  asio::ip::make_address(host, no_address);
  if (!no_address) return X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(native, host.c_str()) == 1;
}

std::string handshakeReason(SSL* native, error_code failure) {
  const long verdict = SSL_get_verify_result(native);
  if (verdict != X509_V_OK) return X509_verify_cert_error_string(verdict);
  if (failure == asio::error::eof || failure == asio::ssl::error::stream_truncated)
    return "the other end closed the connection";
  return failure.message();
}

}  // namespace

std::unique_ptr<Connection> plainConnection(tcp::socket socket) {
  return std::make_unique<StreamConnection<tcp::socket>>(std::move(socket));
}

asio::awaitable<TlsHandshake> startTls(tcp::socket socket,
                                       std::shared_ptr<asio::ssl::context> context,
                                       std::string host, std::chrono::milliseconds timeout) {
  TlsHandshake result;
  TlsStream stream(std::move(socket), *context);
  SSL* native = stream.native_handle();
  if (!expectPeer(native, host)) {
    result.failure = "the name cannot be checked";
    co_return result;
  }
  auto closing = [&stream] {
    error_code ignored;
    stream.lowest_layer().close(ignored);
  };
  IdleWatch deadline(stream.get_executor(), closing);
  deadline.setLimit(timeout);
  ERR_clear_error();
  error_code failure;
  {
    const WatchedOperation operation(deadline);
    auto [outcome] = co_await stream.async_handshake(asio::ssl::stream_base::client, kAwait);
    failure = outcome;
  }
  if (failure) {
    result.timed_out = deadline.expired();
    result.failure = result.timed_out ? "no answer in time" : handshakeReason(native, failure);
    co_return result;
  }
  result.connection = std::make_unique<StreamConnection<TlsStream>>(std::move(stream));
  co_return result;
}

}  // namespace warder::net
