#include "collector/stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>

namespace warder::collector {

namespace asio = boost::asio;
using asio::ip::tcp;
namespace {
constexpr auto kNothrow = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kMaxDrain = 4 << 20;  // bytes dropped after the last answer
constexpr std::chrono::seconds kStepTimeout{30};
constexpr std::chrono::seconds kDrainTimeout{2};
}  // namespace

class TlsContext {
 public:
  asio::ssl::context context{asio::ssl::context::tls_server};
};

namespace {

template <class Next>
class StreamOver final : public Stream {
 public:
  template <class... Arguments>
  explicit StreamOver(Arguments&&... arguments) : next_(std::forward<Arguments>(arguments)...) {}

  asio::awaitable<bool> open() override {
    if constexpr (kTls) {
      expireAfter(std::chrono::seconds(10));
      auto [failure] = co_await next_.async_handshake(asio::ssl::stream_base::server, kNothrow);
      co_return !failure;
    }
    co_return true;
  }

  asio::awaitable<bool> readSome(std::string* into, std::size_t limit) override {
    const std::size_t old = into->size();
    into->resize(old + limit);
    const auto space = asio::buffer(into->data() + old, limit);
    auto [failure, count] = co_await next_.async_read_some(space, kNothrow);
    into->resize(old + count);
    co_return !failure && count > 0;
  }

  asio::awaitable<bool> writeAll(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kPiece);
      expireAfter(kStepTimeout);
      const auto buffer = asio::buffer(piece.data(), piece.size());
      auto [failure, count] = co_await asio::async_write(next_, buffer, kNothrow);
      if (failure) co_return false;
      bytes.remove_prefix(count);
    }
    co_return true;
  }

  asio::awaitable<void> finish() override {
    expireAfter(kDrainTimeout);
    if constexpr (kTls) {
      co_await next_.async_shutdown(kNothrow);
    }
    boost::system::error_code failure;
    lowest().socket().shutdown(tcp::socket::shutdown_send, failure);
    std::string dropped(kPiece, '\0');
    for (std::size_t sum = 0; sum < kMaxDrain && !failure;) {
      const auto space = asio::buffer(dropped);
      auto [ended, count] = co_await lowest().async_read_some(space, kNothrow);
      failure = ended;
      sum += count;
    }
    close();
  }

  void expireAfter(std::chrono::milliseconds time) override { lowest().expires_after(time); }

  void close() override {
    lowest().cancel();
    lowest().close();
  }

 private:
  static constexpr bool kTls = !std::is_same_v<Next, boost::beast::tcp_stream>;
  boost::beast::tcp_stream& lowest() { return boost::beast::get_lowest_layer(next_); }
  Next next_;
};

}  // namespace

std::unique_ptr<Stream> plainStream(tcp::socket socket) {
  return std::make_unique<StreamOver<boost::beast::tcp_stream>>(std::move(socket));
}

std::unique_ptr<Stream> tlsStream(tcp::socket socket, TlsContext& context) {
  return std::make_unique<StreamOver<asio::ssl::stream<boost::beast::tcp_stream>>>(
      std::move(socket), context.context);
}

base::Result<std::shared_ptr<TlsContext>> makeTlsContext(const std::string& certificate_file,
                                                         const std::string& key_file) {
  auto tls = std::make_shared<TlsContext>();
  boost::system::error_code failure;
  ::SSL_CTX_set_min_proto_version(tls->context.native_handle(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(tls->context.native_handle(), SSL_OP_NO_RENEGOTIATION);
  tls->context.use_certificate_chain_file(certificate_file, failure);
  if (failure)
    return base::Error{base::Kind::Config,
                       "cannot use the certificate " + certificate_file + ": " + failure.message()};
  tls->context.use_private_key_file(key_file, asio::ssl::context::pem, failure);
  if (failure)
    return base::Error{base::Kind::Config,
                       "cannot use the key " + key_file + ": " + failure.message()};
  if (::SSL_CTX_check_private_key(tls->context.native_handle()) != 1)
    return base::Error{base::Kind::Config, key_file + " is not the key of " + certificate_file};
  return tls;
}

}  // namespace warder::collector
