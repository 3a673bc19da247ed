#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>

#include "supervisor/net/connection.h"
#include "supervisor/net/idle_watch.h"
#include "supervisor/net/socket_calls.h"

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
    socket_.native_non_blocking(true, ignored);
  }
  ~PlainConnection() override { closeSocket(); }

  std::optional<ReadResult> readNow(asio::mutable_buffer into) override {
    if (!early_.empty()) return takeEarly(into);
    ReadResult result;
    const ssize_t count = receive(socket_.native_handle(), into.data(), into.size());
    if (count < 0 && isForLater(errno)) return std::nullopt;
    if (count < 0) result.failure = why({errno, boost::system::system_category()});
    if (count > 0) result.bytes = static_cast<std::size_t>(count);
    if (count > 0) watch_.moved();
    return result;
  }

  asio::awaitable<error_code> awaitReadable() override {
    const WatchedOperation operation(watch_);
    auto [failure] = co_await socket_.async_wait(tcp::socket::wait_read, kAwait);
    co_return why(failure);
  }

  asio::awaitable<error_code> writeAll(asio::const_buffer bytes) override {
    const WatchedOperation operation(watch_);
    while (bytes.size() > 0) {
      if (!socket_.is_open()) co_return why(asio::error::operation_aborted);
      const ssize_t count =
          ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0 && !isForLater(errno))
        co_return error_code(errno, boost::system::system_category());
      if (count >= 0) {
        watch_.moved();
        bytes += static_cast<std::size_t>(count);
        continue;
      }
      auto [failure] = co_await socket_.async_wait(tcp::socket::wait_write, kAwait);
      if (failure) co_return why(failure);
    }
    co_return error_code{};
  }

  void hold() override { setCork(socket_.native_handle(), true); }
  void release() override { setCork(socket_.native_handle(), false); }
  bool isQuiet() override {
    return socket_.is_open() && early_.empty() && isSilent(socket_.native_handle());
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
