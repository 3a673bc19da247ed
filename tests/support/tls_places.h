// HTTPS servers on localhost whose TLS the broker's own code ends, each with a context of its own;
// a program has believed a server's certificate when its request was heard. Header only, since not
// every test program links OpenSSL.
#pragma once
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <mutex>
#include <set>
#include <thread>

#include "secrets/ca/accept_tls.h"

namespace warder::tests {

namespace asio = boost::asio;

class TlsPlace {
 public:
  using Context = std::shared_ptr<asio::ssl::context>;

  explicit TlsPlace(Context context)
      : context_(std::move(context)),
        acceptor_(loop_, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    asio::co_spawn(loop_, acceptAll(), asio::detached);
    thread_ = std::thread([this] { loop_.run(); });
  }
  TlsPlace(const TlsPlace&) = delete;
  TlsPlace& operator=(const TlsPlace&) = delete;
  ~TlsPlace() {
    loop_.stop();
    thread_.join();
  }

  std::string url() const {
    return "https://localhost:" + std::to_string(acceptor_.local_endpoint().port());
  }
  /// Was there a request whose target has `mark` in it?
  bool heard(const std::string& mark) {
    const std::lock_guard lock(mutex_);
    for (const auto& head : heads_)
      if (head.substr(0, head.find('\r')).find(mark) != std::string::npos) return true;
    return false;
  }
  /// Names of the failures of handshakes so far.
  std::set<std::string> failures() {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  asio::awaitable<void> acceptAll() {
    constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
    for (;;) {
      auto [failure, socket] = co_await acceptor_.async_accept(kAwait);
      if (failure) co_return;
      asio::co_spawn(loop_, serve(std::move(socket)), asio::detached);
    }
  }

  asio::awaitable<void> serve(asio::ip::tcp::socket socket) {
    ca::Accepted accepted = co_await ca::acceptTls(std::move(socket), std::string(), context_,
                                                   std::chrono::milliseconds(20'000));
    if (!accepted.connection) {
      const std::lock_guard lock(mutex_);
      failures_.insert(std::string(ca::nameOf(accepted.failure)));
      co_return;
    }
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      char buffer[4096];
      const net::ReadResult read = co_await accepted.connection->readSome(asio::buffer(buffer));
      if (read.failure || read.bytes == 0) co_return;
      head.append(buffer, read.bytes);
    }
    remember(head);
    const std::string answer =
        "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
    co_await accepted.connection->writeAll(asio::buffer(answer));
    accepted.connection->close();
  }

  void remember(const std::string& head) {
    const std::lock_guard lock(mutex_);
    heads_.push_back(head);
  }

  Context context_;
  asio::io_context loop_;
  asio::ip::tcp::acceptor acceptor_;
  std::mutex mutex_;
  std::vector<std::string> heads_;
  std::set<std::string> failures_;
  std::thread thread_;
};

}  // namespace warder::tests
