// Looks at the box's memory for as long as the agent runs and tells of marks and kernel kills.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/watch/marks.h"
#include "supervisor/watch/memory_probe.h"

namespace warder::init {

class MemoryWatch {
 public:
  MemoryWatch(boost::asio::io_context& context, std::vector<int> marks, base::Emit emit);

  /// Remembers the kernel's counters and begins to look. Without any source it says so once.
  void start();
  /// Tells memory.oom if the kernel killed since start, and memory.summary.
  void finish();
  /// The last look; nullopt before the first and where memory is not watched.
  const std::optional<watch::MemorySample>& latest() const { return latest_; }

 private:
  void look();
  void tellKills();

  boost::asio::steady_timer timer_;
  watch::MarkTracker marks_;
  base::Emit emit_;
  std::optional<watch::MemoryProbe> probe_;
  std::optional<watch::MemorySample> latest_;
  std::uint64_t kills_told_ = 0;
};

}  // namespace warder::init
