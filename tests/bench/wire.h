// What both ends of the broker's benchmark share: a socket with or without TLS that does not block,
// and a clock that both can read.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace warder::bench {

/// Nanoseconds of CLOCK_MONOTONIC, which all processes share.
inline std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "bench: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

inline void allowManyFiles() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A text of 19 digits, as every time of this decade in nanoseconds has, zeros in front.
inline std::string digits(std::int64_t time) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%019lld", static_cast<long long>(time));
  return text.data();
}
inline std::int64_t timeIn(std::string_view text) {
  return std::strtoll(std::string(text.substr(0, 19)).c_str(), nullptr, 10);
}

enum class Moved { Some, Later, Over };

struct Transfer {
  Moved moved = Moved::Over;
  std::size_t bytes = 0;
};

/// Owns its descriptor, and its TLS where there is some.
class Wire {
 public:
  Wire(int fd, SSL* tls) : fd_(fd), tls_(tls) {
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (tls_ != nullptr) SSL_set_fd(tls_, fd_);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() {
    if (tls_ != nullptr) SSL_free(tls_);
    ::close(fd_);
  }

  int fd() const { return fd_; }
  /// From now on, what is sent is encrypted.
  void wrap(SSL* tls) {
    tls_ = tls;
    SSL_set_fd(tls_, fd_);
  }

  Transfer shake() { return judged(SSL_do_handshake(tls_), true); }

  Transfer read(char* into, std::size_t size) {
    if (tls_ != nullptr) return judged(SSL_read(tls_, into, static_cast<int>(size)), true);
    return judged(static_cast<int>(::recv(fd_, into, size, 0)), false);
  }
  Transfer write(std::string_view bytes) {
    if (tls_ != nullptr)
      return judged(SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())), true);
    return judged(static_cast<int>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)), false);
  }

 private:
  Transfer judged(int outcome, bool tls) {
    if (outcome > 0) return {Moved::Some, static_cast<std::size_t>(outcome)};
    bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN;
    if (tls) {
      const int why = SSL_get_error(tls_, outcome);
      later = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
      ERR_clear_error();
    } else if (outcome == 0) {
      later = false;
    }
    return {later ? Moved::Later : Moved::Over, 0};
  }

  int fd_;
  SSL* tls_;
};

/// epoll(7), edge triggered, with a pointer for each descriptor.
class Poll {
 public:
  Poll() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {}
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;
  ~Poll() { ::close(fd_); }

  void add(int fd, void* whose, unsigned what = EPOLLIN | EPOLLOUT | EPOLLET) {
    epoll_event event{};
    event.events = what;
    event.data.ptr = whose;
    if (::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
  }
  void remove(int fd) { ::epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr); }
  /// Calls `use(whose)` for each descriptor that is ready, after `wait` nanoseconds at most.
  template <class Use>
  void each(std::int64_t wait, Use use) {
    std::array<epoll_event, 512> events;
    const std::int64_t most = std::max<std::int64_t>(wait, 0);
    const timespec limit{most / 1'000'000'000, most % 1'000'000'000};
    const int count =
        ::epoll_pwait2(fd_, events.data(), static_cast<int>(events.size()), &limit, nullptr);
    for (int i = 0; i < count; ++i) use(events[static_cast<std::size_t>(i)].data.ptr);
  }

 private:
  int fd_;
};

}  // namespace warder::bench
