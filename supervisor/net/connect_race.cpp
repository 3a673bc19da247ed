#include "supervisor/net/connect_race.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>

namespace warder::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// A peer that is gone without a word is found out after 60 + 4 * 15 seconds.
constexpr int kKeepAliveIdle_s = 60;
constexpr int kKeepAliveInterval_s = 15;
constexpr int kKeepAliveProbes = 4;

void keepAlive(tcp::socket& socket) {
  const int native = socket.native_handle();
  const int on = 1;
  ::setsockopt(native, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(native, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveIdle_s, sizeof kKeepAliveIdle_s);
  ::setsockopt(native, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepAliveInterval_s,
               sizeof kKeepAliveInterval_s);
  ::setsockopt(native, IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveProbes, sizeof kKeepAliveProbes);
}

/// Handlers hold it alive; after stop() they do nothing.
class Race : public std::enable_shared_from_this<Race> {
 public:
  Race(const asio::any_io_executor& executor, std::vector<tcp::endpoint> places)
      : executor_(executor), delay_(executor), done_(executor), places_(std::move(places)) {
    sockets_.reserve(places_.size());
  }

  asio::awaitable<void> run(std::chrono::milliseconds timeout) {
    done_.expires_after(timeout);
    startNext();
    if (over_) co_return;
    co_await done_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!over_) result_.timed_out = true;
  }

  void stop() {
    over_ = true;
    delay_.cancel();
    error_code ignored;
    for (tcp::socket& socket : sockets_) socket.close(ignored);
  }

  Connected takeResult() { return std::move(result_); }

 private:
  void startNext() {
    const std::size_t index = sockets_.size();
    if (over_ || index == places_.size()) return;
    ++pending_;
    sockets_.emplace_back(executor_);
    sockets_[index].async_connect(
        places_[index],
        [self = shared_from_this(), index](error_code failure) { self->ended(index, failure); });
    if (index + 1 == places_.size()) return;
    delay_.expires_after(kAttemptDelay);
    delay_.async_wait([self = shared_from_this()](error_code failure) {
      if (!failure) self->startNext();
    });
  }

  void ended(std::size_t index, error_code failure) {
    if (over_) return;
    --pending_;
    if (!failure) {
      result_.socket = std::move(sockets_[index]);
      keepAlive(*result_.socket);
      finish();
      return;
    }
    result_.failure = failure;
    if (sockets_.size() < places_.size()) {
      startNext();  // and arms the delay anew
    } else if (pending_ == 0) {
      finish();
    }
  }

  void finish() {
    stop();
    done_.cancel();
  }

  asio::any_io_executor executor_;
  asio::steady_timer delay_;
  asio::steady_timer done_;
  std::vector<tcp::endpoint> places_;
  std::vector<tcp::socket> sockets_;  // one for each place that was begun
  std::size_t pending_ = 0;
  bool over_ = false;
  Connected result_;
};

/// Stops the race whichever way its coroutine ends.
struct StopAtEnd {
  std::shared_ptr<Race> race;
  ~StopAtEnd() { race->stop(); }
};

}  // namespace

std::vector<asio::ip::address> familiesInTurn(std::vector<asio::ip::address> all) {
  std::vector<asio::ip::address> in_turn;
  while (!all.empty() && in_turn.size() < kMostAddresses) {
    const bool wants_v6 = in_turn.empty() ? all.front().is_v6() : !in_turn.back().is_v6();
    auto next = std::find_if(all.begin(), all.end(), [wants_v6](const asio::ip::address& address) {
      return address.is_v6() == wants_v6;
    });
    if (next == all.end()) next = all.begin();
    in_turn.push_back(*next);
    all.erase(next);
  }
  return in_turn;
}

asio::awaitable<Connected> connectToAny(std::vector<tcp::endpoint> places,
                                        std::chrono::milliseconds timeout) {
  auto executor = co_await asio::this_coro::executor;
  auto race = std::make_shared<Race>(executor, std::move(places));
  const StopAtEnd guard{race};
  co_await race->run(timeout);
  co_return race->takeResult();
}

}  // namespace warder::net
