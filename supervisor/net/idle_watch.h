// Ends operations of a connection on which no byte moves for too long.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace warder::net {

class IdleWatch {
 public:
  /// `on_idle` is called at most once, from the io_context.
  IdleWatch(boost::asio::any_io_executor executor, std::function<void()> on_idle);
  IdleWatch(const IdleWatch&) = delete;
  IdleWatch& operator=(const IdleWatch&) = delete;
  ~IdleWatch();

  void setLimit(std::chrono::milliseconds limit);
  void begin();  // an operation starts
  void moved();  // bytes moved
  void end();    // an operation ended
  bool expired() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// An operation under way; ends when the coroutine does, even by cancellation.
class WatchedOperation {
 public:
  explicit WatchedOperation(IdleWatch& watch) : watch_(watch) { watch_.begin(); }
  WatchedOperation(const WatchedOperation&) = delete;
  WatchedOperation& operator=(const WatchedOperation&) = delete;
  ~WatchedOperation() { watch_.end(); }

 private:
  IdleWatch& watch_;
};

}  // namespace warder::net
