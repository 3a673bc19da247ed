#include "supervisor/net/idle_watch.h"

#include <boost/asio/steady_timer.hpp>

namespace warder::net {

using Clock = std::chrono::steady_clock;

/// Shared with the timer's handler, which may already be queued when the connection goes.
struct IdleWatch::State : std::enable_shared_from_this<State> {
  State(const boost::asio::any_io_executor& executor, std::function<void()> idle)
      : timer(executor), on_idle(std::move(idle)) {}

  void arm() {
    if (armed || limit.count() == 0 || pending == 0 || expired) return;
    armed = true;
    timer.expires_at(last_moved + limit);
    timer.async_wait([self = shared_from_this()](boost::system::error_code) { self->fired(); });
  }

  void fired() {
    armed = false;
    if (!on_idle || pending == 0 || limit.count() == 0) return;
    if (Clock::now() < last_moved + limit) return arm();
    expired = true;
    on_idle();
  }

  boost::asio::steady_timer timer;
  std::function<void()> on_idle;
  std::chrono::milliseconds limit{0};
  Clock::time_point last_moved = Clock::now();
  int pending = 0;
  bool armed = false;
  bool expired = false;
};

IdleWatch::IdleWatch(boost::asio::any_io_executor executor, std::function<void()> on_idle)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_idle))) {}

IdleWatch::~IdleWatch() {
  state_->on_idle = nullptr;
  state_->timer.cancel();
}

void IdleWatch::setLimit(std::chrono::milliseconds limit) {
  state_->limit = limit;
  state_->last_moved = Clock::now();
  if (state_->armed) state_->timer.cancel();  // its handler arms anew
  state_->arm();
}

void IdleWatch::begin() {
  if (state_->pending++ == 0) state_->last_moved = Clock::now();
  state_->arm();
}

void IdleWatch::moved() {
  state_->last_moved = Clock::now();
}
void IdleWatch::end() {
  --state_->pending;
}
bool IdleWatch::expired() const {
  return state_->expired;
}

}  // namespace warder::net
