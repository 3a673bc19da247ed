#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <tuple>

#include "supervisor/net/connection.h"
#include "supervisor/net/idle_watch.h"

namespace warder::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

class PlainConnection final : public Connection {
 public:
  PlainConnection(tcp::socket socket, std::string early)
      : socket_(std::move(socket)),
        early_(std::move(early)),
        watch_(socket_.get_executor(), [this] { closeSocket(); }) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }
  ~PlainConnection() override { closeSocket(); }

  asio::awaitable<ReadResult> readSome(asio::mutable_buffer into) override {
    if (!early_.empty()) co_return takeEarly(into);
    const WatchedOperation operation(watch_);
    auto [failure, bytes] = co_await socket_.async_read_some(into, kAwait);
    ReadResult result{bytes, why(failure)};
    if (failure == asio::error::eof) result.failure = {};
    if (bytes > 0) watch_.moved();
    co_return result;
  }

  asio::awaitable<error_code> writeAll(asio::const_buffer bytes) override {
    const WatchedOperation operation(watch_);
    while (bytes.size() > 0) {
      auto [failure, count] = co_await socket_.async_write_some(bytes, kAwait);
      if (failure) co_return why(failure);
      watch_.moved();
      bytes += count;
    }
    co_return error_code{};
  }

  void endWriting() override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void setIdleLimit(std::chrono::milliseconds limit) override { watch_.setLimit(limit); }
  void close() override { closeSocket(); }
  void abort() override {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    closeSocket();
  }

 private:
  ReadResult takeEarly(asio::mutable_buffer into) {
    const std::size_t count = std::min(into.size(), early_.size());
    std::memcpy(into.data(), early_.data(), count);
    early_.erase(0, count);
    return {count, {}};
  }
  error_code why(error_code failure) const {
    return failure && watch_.expired() ? asio::error::make_error_code(asio::error::timed_out)
                                       : failure;
  }
  void closeSocket() {
    error_code ignored;
    socket_.close(ignored);
  }

  tcp::socket socket_;
  std::string early_;  // given before anything of the socket
  IdleWatch watch_;
};

}  // namespace

std::unique_ptr<Connection> plainConnection(tcp::socket socket, std::string already_read) {
  return std::make_unique<PlainConnection>(std::move(socket), std::move(already_read));
}

}  // namespace warder::net
