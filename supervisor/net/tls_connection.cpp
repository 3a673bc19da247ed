#include "supervisor/net/tls_connection.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <climits>

#include "supervisor/net/idle_watch.h"
#include "supervisor/net/socket_bio.h"
#include "supervisor/net/socket_calls.h"
#include "supervisor/net/tls_sessions.h"

namespace warder::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

enum class Side { Client, Server };

struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};

/// What a call of OpenSSL asks for next.
enum class Next { Done, WaitToRead, WaitToWrite, Ended, Failed };

struct Step {
  Next next = Next::Done;
  error_code failure;
};

error_code lastFailure(int system_errno) {
  const unsigned long code = ERR_get_error();
  if (code == 0 && system_errno == 0) return asio::ssl::error::stream_truncated;
  if (code == 0) return error_code(system_errno, boost::system::system_category());
  if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
      ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
    return asio::ssl::error::stream_truncated;
  return error_code(static_cast<int>(code), asio::error::get_ssl_category());
}

/// `outcome` is what the call returned, right after it.
Step judge(SSL* session, int outcome) {
  const int system_errno = errno;
  switch (SSL_get_error(session, outcome)) {
    case SSL_ERROR_NONE:
      return {};
    case SSL_ERROR_WANT_READ:
      return {Next::WaitToRead, {}};
    case SSL_ERROR_WANT_WRITE:
      return {Next::WaitToWrite, {}};
    case SSL_ERROR_ZERO_RETURN:
      return {Next::Ended, {}};
    default:
      return {Next::Failed, lastFailure(system_errno)};
  }
}

int sizeForOpenSsl(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

class TlsConnection final : public Connection {
 public:
  TlsConnection(SocketEnd end, std::shared_ptr<asio::ssl::context> context, Side side)
      : end_(std::move(end)),
        context_(std::move(context)),
        side_(side),
        session_(SSL_new(context_->native_handle())),
        watch_(end_.socket.get_executor(), [this] { closeSocket(); }) {
    error_code ignored;
    end_.socket.set_option(tcp::no_delay(true), ignored);
    end_.socket.native_non_blocking(true, ignored);
    BIO* bio = session_ ? makeSocketBio(end_) : nullptr;
    if (bio == nullptr) {
      session_.reset();
      return;
    }
    SSL_set_bio(session_.get(), bio, bio);
    SSL_set_mode(session_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                     SSL_MODE_RELEASE_BUFFERS);
    SSL_set_read_ahead(session_.get(), 1);
    if (side == Side::Client) SSL_set_connect_state(session_.get());
    if (side == Side::Server) SSL_set_accept_state(session_.get());
  }
  ~TlsConnection() override { closeSocket(); }

  /// Null when memory was out.
  SSL* session() const { return session_.get(); }

  asio::awaitable<error_code> shakeHands() {
    const WatchedOperation operation(watch_);
    for (;;) {
      ERR_clear_error();
      errno = 0;
      const int outcome = SSL_do_handshake(session_.get());
      const Step step = judge(session_.get(), outcome);
      if (step.next == Next::Done) break;
      if (isOver(step)) co_return whyOver(step);
      const error_code failure = co_await ready(step.next);
      if (failure) co_return failure;
    }
    established_ = true;
    co_return error_code{};
  }

  std::optional<ReadResult> readNow(asio::mutable_buffer into) override {
    ERR_clear_error();
    errno = 0;
    const int outcome = SSL_read(session_.get(), into.data(), sizeForOpenSsl(into.size()));
    const Step step = judge(session_.get(), outcome);
    wanted_ = step.next;
    ReadResult result;
    if (step.next == Next::Done) result.bytes = static_cast<std::size_t>(outcome);
    if (step.next == Next::Done) watch_.moved();
    if (step.next == Next::Failed) result.failure = whyOver(step);
    if (step.next == Next::Done || isOver(step)) return result;
    return std::nullopt;
  }

  asio::awaitable<error_code> awaitReadable() override {
    const WatchedOperation operation(watch_);
    co_return co_await ready(wanted_);
  }

  asio::awaitable<error_code> writeAll(asio::const_buffer bytes) override {
    const WatchedOperation operation(watch_);
    while (bytes.size() > 0) {
      ERR_clear_error();
      errno = 0;
      const int outcome = SSL_write(session_.get(), bytes.data(), sizeForOpenSsl(bytes.size()));
      const Step step = judge(session_.get(), outcome);
      if (step.next == Next::Done) {
        watch_.moved();
        bytes += static_cast<std::size_t>(outcome);
        continue;
      }
      if (isOver(step)) co_return whyOver(step);
      const error_code failure = co_await ready(step.next);
      if (failure) co_return failure;
    }
    co_return error_code{};
  }

  void hold() override { setCork(end_.socket.native_handle(), true); }
  void release() override { setCork(end_.socket.native_handle(), false); }
  bool isQuiet() override {
    return established_ && end_.socket.is_open() && end_.early.empty() &&
           SSL_has_pending(session_.get()) == 0 && isSilent(end_.socket.native_handle());
  }

  /// A server's answer may reach as far as its close_notify; a client's is not usable, since
  /// servers take it for the end of both directions.
  void endWriting() override {
    if (side_ == Side::Server) sayGoodbye();
  }
  void setIdleLimit(std::chrono::milliseconds limit) override { watch_.setLimit(limit); }
  void close() override {
    if (side_ == Side::Server) sayGoodbye();
    closeSocket();
  }
  void abort() override {
    error_code ignored;
    end_.socket.set_option(asio::socket_base::linger(true, 0), ignored);
    closeSocket();
  }
  bool expired() const { return watch_.expired(); }

 private:
  static bool isOver(const Step& step) {
    return step.next == Next::Ended || step.next == Next::Failed;
  }

  error_code whyOver(const Step& step) {
    established_ = false;
    if (watch_.expired()) return asio::error::timed_out;
    if (!end_.socket.is_open()) return asio::error::operation_aborted;
    return step.next == Next::Ended ? error_code(asio::error::eof) : step.failure;
  }

  asio::awaitable<error_code> ready(Next next) {
    const auto way = next == Next::WaitToRead ? tcp::socket::wait_read : tcp::socket::wait_write;
    auto [failure] = co_await end_.socket.async_wait(way, kAwait);
    if (failure && watch_.expired()) co_return asio::error::timed_out;
    co_return failure;
  }

  void sayGoodbye() {
    if (!established_ || !end_.socket.is_open()) return;
    established_ = false;
    ERR_clear_error();
    SSL_shutdown(session_.get());
    ERR_clear_error();
  }

  void closeSocket() {
    error_code ignored;
    end_.socket.close(ignored);
  }

  SocketEnd end_;
  std::shared_ptr<asio::ssl::context> context_;
  Side side_;
  std::unique_ptr<SSL, FreeSession> session_;  // before end_ goes: its BIO points there
  IdleWatch watch_;
  Next wanted_ = Next::WaitToRead;  // by the last read that got nothing
  bool established_ = false;        // and not broken: close_notify may be said
};

/// The name (or address) that the certificate must carry is checked inside OpenSSL's verification,
/// so that its reason reads "hostname mismatch". SNI is for names only (RFC 6066).
bool expectPeer(SSL* session, const std::string& host) {
  X509_VERIFY_PARAM* wanted = SSL_get0_param(session);
  error_code no_address;
  asio::ip::make_address(host, no_address);
  if (!no_address) return X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(session, host.c_str()) == 1;
}

std::string handshakeReason(SSL* session, error_code failure) {
  const long verdict = SSL_get_verify_result(session);
  if (verdict != X509_V_OK) return X509_verify_cert_error_string(verdict);
  if (failure == asio::error::eof || failure == asio::ssl::error::stream_truncated)
    return "the other end closed the connection";
  return failure.message();
}

/// An alert that was received is a reason of OpenSSL's above this number.
constexpr int kAlertReasons = SSL_AD_REASON_OFFSET;

asio::awaitable<TlsHandshake> shake(std::unique_ptr<TlsConnection> connection,
                                    std::chrono::milliseconds timeout) {
  TlsHandshake result;
  connection->setIdleLimit(timeout);
  const error_code failure = co_await connection->shakeHands();
  connection->setIdleLimit(std::chrono::milliseconds::zero());
  if (!failure) {
    result.connection = std::move(connection);
    co_return result;
  }
  result.timed_out = connection->expired();
  if (failure.category() == asio::error::get_ssl_category())
    result.reason = ERR_GET_REASON(static_cast<unsigned long>(failure.value()));
  if (result.reason >= kAlertReasons && result.reason < kAlertReasons + 256)
    result.peer_alert = result.reason - kAlertReasons;
  result.failure = "no answer in time";
  if (!result.timed_out) result.failure = handshakeReason(connection->session(), failure);
  co_return result;
}

TlsHandshake failed(std::string sentence) {
  TlsHandshake result;
  result.failure = std::move(sentence);
  return result;
}

}  // namespace

asio::awaitable<TlsHandshake> startTls(tcp::socket socket,
                                       std::shared_ptr<asio::ssl::context> context,
                                       std::string host, std::chrono::milliseconds timeout) {
  error_code not_connected;
  const std::string port = std::to_string(socket.remote_endpoint(not_connected).port());
  SocketEnd end{std::move(socket), {}};
  auto connection =
      std::make_unique<TlsConnection>(std::move(end), std::move(context), Side::Client);
  if (connection->session() == nullptr) co_return failed("TLS could not be set up");
  if (!expectPeer(connection->session(), host)) co_return failed("the name cannot be checked");
  useSessions(connection->session(), host + " " + port);
  co_return co_await shake(std::move(connection), timeout);
}

asio::awaitable<TlsHandshake> answerTls(tcp::socket socket, std::string already_read,
                                        std::shared_ptr<asio::ssl::context> context,
                                        std::chrono::milliseconds timeout) {
  SocketEnd end{std::move(socket), std::move(already_read)};
  auto connection =
      std::make_unique<TlsConnection>(std::move(end), std::move(context), Side::Server);
  if (connection->session() == nullptr) co_return failed("TLS could not be set up");
  co_return co_await shake(std::move(connection), timeout);
}

}  // namespace warder::net
