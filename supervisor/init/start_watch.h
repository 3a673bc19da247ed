// An agent that does nothing after its start may wait for an answer that nobody gives (BC-043).
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "supervisor/base/event.h"

namespace warder::init {

/// What an agent has done, as far as anybody can see it from outside.
struct AgentSigns {
  std::uint64_t output_bytes = 0;
  std::chrono::milliseconds cpu{0};  // of all its processes that live, and of their children
  std::size_t processes = 0;
};

/// No sign for this long since its start, and no call to a provider yet, is a stall.
inline constexpr std::chrono::milliseconds kStartStall{60'000};
/// CPU that timers of an idle runtime use in that time: one percent.
inline constexpr std::chrono::milliseconds kIdleCpu = kStartStall / 100;
/// Of the last output line that the event repeats, in bytes.
inline constexpr std::size_t kMaxStallLine = 400;

/// Decides about stalls. Pure.
class StallClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit StallClock(std::chrono::milliseconds patience = kStartStall) : patience_(patience) {}
  /// True once: when the last sign of life is `patience` ago.
  bool step(Time now, const AgentSigns& signs);

 private:
  std::chrono::milliseconds patience_;
  bool begun_ = false;
  bool told_ = false;
  Time last_sign_;
  AgentSigns then_;
};

class StartWatch {
 public:
  struct Eyes {
    std::function<AgentSigns()> signs;
    std::function<std::string()> last_line;  // of the output, empty when there is none
    base::Emit emit;
  };

  StartWatch(boost::asio::io_context& context, Eyes eyes,
             std::chrono::milliseconds patience = kStartStall);

  /// Call when the agent has started. Emits agent.waiting_for_input once, if it stalls.
  void start();
  /// Call at its first call to a provider, allowed or not, and at its end: the start is over.
  void stop();

 private:
  void look();

  boost::asio::steady_timer timer_;
  Eyes eyes_;
  std::chrono::milliseconds patience_;
  StallClock clock_;
};

/// Signs from the run's output files (journal/output_log.h) and from /proc.
AgentSigns signsOf(const std::string& run_dir, const std::vector<pid_t>& processes);

/// The last line of the agent's output that is not blank, at most kMaxStallLine bytes of its end's
/// beginning; of the stream that was written to last. Empty when there is none.
std::string lastOutputLine(const std::string& run_dir);

}  // namespace warder::init
