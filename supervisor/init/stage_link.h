// init's end of a stage's control socket: messages come as callbacks, sending never blocks.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <vector>

#include "supervisor/base/wire.h"

namespace warder::init {

class StageLink {
 public:
  using OnMessage = std::function<void(const base::json::object&)>;
  using OnClosed = std::function<void()>;
  struct Handlers {
    OnMessage message;
    OnClosed closed;  // the stage closed its end, or spoke nonsense
  };

  StageLink(boost::asio::io_context& context, base::UniqueFd control, Handlers handlers);
  StageLink(const StageLink&) = delete;
  StageLink& operator=(const StageLink&) = delete;

  /// Queues one message; descriptors are duplicated, so the caller may close its own.
  void send(base::json::object body, const std::vector<int>& fds = {});
  /// Sends now or drops: for listeners that must never slow the run down.
  void offer(const base::json::object& body);
  /// No more from us; what the stage still says is heard until it closes.
  void finishSending();

 private:
  struct Outgoing {
    base::json::object body;
    std::vector<base::UniqueFd> fds;
  };
  void waitToRead();
  void readAll();
  void flush();
  void close();

  boost::asio::posix::stream_descriptor socket_;
  Handlers handlers_;
  std::deque<Outgoing> outgoing_;
  bool waiting_to_write_ = false;
  bool finishing_ = false;
};

}  // namespace warder::init
