#include "supervisor/net/resolver.h"

#include <ares.h>
#include <netinet/in.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <map>
#include <memory>

namespace warder::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// RFC 8305, section 3, has 50 ms for an IPv6 answer that comes late; without the IPv4 one there
// would be nothing to fall back to, so that one has longer.
constexpr std::chrono::milliseconds kGraceForV6{50};
constexpr std::chrono::milliseconds kGraceForV4{1'000};

struct LibraryInit {
  LibraryInit() : status(::ares_library_init(ARES_LIB_INIT_ALL)) {}
  int status;
};

/// One lookup with its own channel. c-ares owns the sockets; we only watch them, so a descriptor
/// is released before c-ares closes it.
class Lookup : public std::enable_shared_from_this<Lookup> {
 public:
  explicit Lookup(const asio::any_io_executor& executor)
      : executor_(executor), retry_(executor), grace_(executor), done_(executor) {}
  ~Lookup() { stop(); }

  void start(const std::string& host) {
    // Files before DNS, whatever nsswitch.conf says; a name that stands there is never asked for.
    if (!open(Source::Files)) return;
    ask(host, AF_UNSPEC);
    if (!result_.addresses.empty()) {
      finish({});
      return;
    }
    ::ares_destroy(std::exchange(channel_, nullptr));
    result_ = {};
    if (!open(Source::Servers)) return;
    pending_ = 2;
    ask(host, AF_INET6);
    ask(host, AF_INET);
    armRetry();
  }

  asio::awaitable<void> wait(std::chrono::milliseconds timeout) {
    if (finished_) co_return;
    done_.expires_after(timeout);
    co_await done_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!finished_) result_.timed_out = true;
  }

  void stop() {
    stopped_ = true;
    if (channel_ != nullptr) ::ares_destroy(std::exchange(channel_, nullptr));
    for (auto& [fd, socket] : sockets_) socket.descriptor.release();
    sockets_.clear();
    retry_.cancel();
    grace_.cancel();
  }

  Resolution takeResult() { return std::move(result_); }

 private:
  struct Socket {
    asio::posix::stream_descriptor descriptor;
    std::uint64_t id;
    bool wants_read = false;
    bool wants_write = false;
    bool reading = false;
    bool writing = false;
  };

  void watch(ares_socket_t fd, bool readable, bool writable) {
    auto found = sockets_.find(fd);
    if (!readable && !writable) {
      if (found == sockets_.end()) return;
      found->second.descriptor.release();
      sockets_.erase(found);
      return;
    }
    if (found == sockets_.end()) {
      Socket socket{asio::posix::stream_descriptor(executor_, fd), ++last_id_};
      found = sockets_.emplace(fd, std::move(socket)).first;
    }
    found->second.wants_read = readable;
    found->second.wants_write = writable;
    arm(fd);
  }

  void arm(ares_socket_t fd) {
    const auto found = sockets_.find(fd);
    if (found == sockets_.end()) return;
    Socket& socket = found->second;
    if (socket.wants_read && !socket.reading) {
      socket.reading = true;
      socket.descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                   [self = shared_from_this(), fd, id = socket.id](
                                       error_code failure) { self->ready(fd, id, failure, true); });
    }
    if (socket.wants_write && !socket.writing) {
      socket.writing = true;
      socket.descriptor.async_wait(
          asio::posix::stream_descriptor::wait_write,
          [self = shared_from_this(), fd, id = socket.id](error_code failure) {
            self->ready(fd, id, failure, false);
          });
    }
  }

  void ready(ares_socket_t fd, std::uint64_t id, error_code failure, bool read) {
    const auto found = sockets_.find(fd);
    if (failure || channel_ == nullptr || found == sockets_.end() || found->second.id != id) return;
    (read ? found->second.reading : found->second.writing) = false;
    ::ares_process_fd(channel_, read ? fd : ARES_SOCKET_BAD, read ? ARES_SOCKET_BAD : fd);
    if (finished_) return;
    arm(fd);
    armRetry();
  }

  void armRetry() {
    timeval until{};
    if (finished_ || ::ares_timeout(channel_, nullptr, &until) == nullptr) return;
    retry_.expires_after(std::chrono::seconds(until.tv_sec) +
                         std::chrono::microseconds(until.tv_usec));
    retry_.async_wait([self = shared_from_this()](error_code failure) {
      if (failure || self->channel_ == nullptr) return;
      ::ares_process_fd(self->channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      self->armRetry();
    });
  }

  enum class Source : char { Files = 'f', Servers = 'b' };

  bool open(Source source) {
    static const LibraryInit library;
    ares_options options{};
    options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
      static_cast<Lookup*>(self)->watch(fd, readable != 0, writable != 0);
    };
    options.sock_state_cb_data = this;
    options.timeout = 2000;
    options.tries = 3;
    char lookups[] = {static_cast<char>(source), '\0'};
    options.lookups = lookups;
    const int wanted =
        ARES_OPT_SOCK_STATE_CB | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS;
    if (library.status == ARES_SUCCESS &&
        ::ares_init_options(&channel_, &options, wanted) == ARES_SUCCESS)
      return true;
    channel_ = nullptr;
    result_.failure = "the resolver could not start";
    finish(result_.failure);
    return false;
  }

  /// From files the answer is there when this returns.
  void ask(const std::string& host, int family) {
    ares_addrinfo_hints hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = ARES_AI_NUMERICSERV;
    ::ares_getaddrinfo(
        channel_, host.c_str(), nullptr, &hints,
        [](void* self, int status, int, ares_addrinfo* found) {
          static_cast<Lookup*>(self)->answered(status, found);
        },
        this);
  }

  void answered(int status, ares_addrinfo* found) {
    const bool late = finished_ || stopped_;
    for (auto* node = found != nullptr && !late ? found->nodes : nullptr; node != nullptr;
         node = node->ai_next)
      add(node->ai_addr);
    if (found != nullptr) ::ares_freeaddrinfo(found);
    if (late || pending_ == 0) return;
    if (--pending_ == 0) {
      finish(status == ARES_SUCCESS ? "no address" : ::ares_strerror(status));
    } else if (!result_.addresses.empty()) {
      beginGrace();
    }
  }

  /// RFC 8305, section 3: one family has answered; the other is not waited for long.
  void beginGrace() {
    grace_.expires_after(result_.addresses.front().is_v6() ? kGraceForV4 : kGraceForV6);
    grace_.async_wait([self = shared_from_this()](error_code failure) {
      if (!failure && !self->finished_ && !self->stopped_) self->finish({});
    });
  }

  void add(const sockaddr* address) {
    asio::ip::address value;
    if (address->sa_family == AF_INET) {
      asio::ip::address_v4::bytes_type bytes;
      std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
      value = asio::ip::address_v4(bytes);
    } else if (address->sa_family == AF_INET6) {
      asio::ip::address_v6::bytes_type bytes;
      std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
      value = asio::ip::address_v6(bytes);
    } else {
      return;
    }
    auto& all = result_.addresses;
    if (std::find(all.begin(), all.end(), value) != all.end()) return;
    // IPv6 first, whichever answer came first; where there is no route, connecting fails at once.
    const auto first_v4 = std::find_if(
        all.begin(), all.end(), [](const asio::ip::address& known) { return known.is_v4(); });
    all.insert(value.is_v6() ? first_v4 : all.end(), value);
  }

  void finish(std::string failure) {
    finished_ = true;
    grace_.cancel();
    if (result_.addresses.empty()) result_.failure = std::move(failure);
    done_.cancel();
  }

  asio::any_io_executor executor_;
  asio::steady_timer retry_;
  asio::steady_timer grace_;
  asio::steady_timer done_;
  ares_channel channel_ = nullptr;
  std::map<ares_socket_t, Socket> sockets_;
  std::uint64_t last_id_ = 0;
  int pending_ = 0;  // questions to servers
  bool finished_ = false;
  bool stopped_ = false;
  Resolution result_;
};

/// Stops the lookup whichever way its coroutine ends: handlers that are under way keep it alive.
struct StopAtEnd {
  std::shared_ptr<Lookup> lookup;
  ~StopAtEnd() { lookup->stop(); }
};

}  // namespace

asio::awaitable<Resolution> resolve(std::string host, std::chrono::milliseconds timeout) {
  auto executor = co_await asio::this_coro::executor;
  auto lookup = std::make_shared<Lookup>(executor);
  const StopAtEnd guard{lookup};
  lookup->start(host);
  co_await lookup->wait(timeout);
  co_return lookup->takeResult();
}

}  // namespace warder::net
