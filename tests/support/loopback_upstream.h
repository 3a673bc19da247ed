// A server on 127.0.0.1 whose behaviour is a function: one thread per connection, blocking calls,
// TLS when it was given an identity. Header only, since not every test program links OpenSSL.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/test_ca.h"

namespace warder::tests {

/// One accepted connection, as the script of a test sees it.
class Peer {
 public:
  Peer(int fd, SSL* tls) : fd_(fd), tls_(tls) {}

  /// Some bytes; empty when the other end is gone.
  std::string read() {
    char buffer[65536];
    const long count = tls_ != nullptr ? SSL_read(tls_, buffer, sizeof buffer)
                                       : ::read(fd_, buffer, sizeof buffer);
    return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : std::string();
  }

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const long count = tls_ != nullptr
                             ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  /// A whole request: the head, and a body by Content-Length or chunked (left as sent).
  struct Request {
    std::string head;
    std::string body;
  };
  std::optional<Request> readRequest() {
    std::size_t end;
    while ((end = pending_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return std::nullopt;
    Request request{pending_.substr(0, end + 4), {}};
    pending_.erase(0, end + 4);
    const std::size_t length = contentLength(request.head);
    while (pending_.size() < length)
      if (!more()) return std::nullopt;
    if (hasHeader(request.head, "transfer-encoding: chunked"))
      while (pending_.find("0\r\n\r\n") == std::string::npos)
        if (!more()) return std::nullopt;
    const std::size_t size = length > 0 ? length : pending_.size();
    request.body = pending_.substr(0, size);
    pending_.erase(0, size);
    return request;
  }

  /// Only the head; what came after it stays for `takePending`.
  std::optional<std::string> readHead() {
    std::size_t end;
    while ((end = pending_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return std::nullopt;
    std::string head = pending_.substr(0, end + 4);
    pending_.erase(0, end + 4);
    return head;
  }
  std::string takePending() { return std::exchange(pending_, {}); }

  /// Waits for the other end to close; true when it did.
  bool waitForClose() {
    while (!read().empty()) {
    }
    return true;
  }

  /// Did the other end resume a session of TLS?
  bool resumed() const { return tls_ != nullptr && SSL_session_reused(tls_) == 1; }

  /// Ends the connection without TLS's close_notify.
  void cut() { ::shutdown(fd_, SHUT_RDWR); }

  static std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }
  static bool hasHeader(const std::string& head, const std::string& line) {
    return lower(head).find("\r\n" + line + "\r\n") != std::string::npos;
  }
  static std::size_t contentLength(const std::string& head) {
    const std::string text = lower(head);
    const std::size_t at = text.find("\r\ncontent-length: ");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 18));
  }

 private:
  bool more() {
    const std::string bytes = read();
    pending_ += bytes;
    return !bytes.empty();
  }

  int fd_;
  SSL* tls_;
  std::string pending_;
};

class LoopbackUpstream {
 public:
  using Script = std::function<void(Peer&)>;

  explicit LoopbackUpstream(Script script) : script_(std::move(script)) { listen(); }
  LoopbackUpstream(Identity identity, Script script) : script_(std::move(script)) {
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_, identity.key.get());
    listen();
  }
  LoopbackUpstream(const LoopbackUpstream&) = delete;
  LoopbackUpstream& operator=(const LoopbackUpstream&) = delete;
  ~LoopbackUpstream() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (auto& thread : threads_) thread.join();
    ::close(listener_);
    SSL_CTX_free(context_);
  }

  std::uint16_t port() const { return port_; }
  int accepted() const { return accepted_; }
  /// For settings before the first connection; null without TLS.
  SSL_CTX* context() const { return context_; }

 private:
  void listen() {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes with write(2)
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 512);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    // A test that forks next must not copy a lock of the allocator that a thread holds at its
    // start.
    acceptor_ = std::thread([this] {
      at_rest_ = true;
      at_rest_.notify_one();
      acceptAll();
    });
    at_rest_.wait(false);
  }

  void acceptAll() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      ++accepted_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    SSL* tls = nullptr;
    bool usable = true;
    if (context_ != nullptr) {
      tls = SSL_new(context_);
      SSL_set_fd(tls, fd);
      usable = SSL_accept(tls) == 1;
    }
    if (usable) {
      Peer peer(fd, tls);
      script_(peer);
    }
    if (tls != nullptr) {
      if (usable) SSL_shutdown(tls);
      SSL_free(tls);
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    ::close(fd);
  }

  Script script_;
  SSL_CTX* context_ = nullptr;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::atomic<bool> at_rest_{false};
  std::thread acceptor_;
  std::vector<std::thread> threads_;
};

/// A port on which nobody listens.
inline std::uint16_t closedPort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace warder::tests
