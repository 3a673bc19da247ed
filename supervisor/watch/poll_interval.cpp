#include "supervisor/watch/poll_interval.h"

#include <algorithm>

namespace warder::watch {

std::chrono::milliseconds pollInterval(const MemorySample& sample) {
  constexpr std::uint64_t kBytesPerMillisecond = 8 * kFastestGrowthBytesPerSecond / 1000;
  const std::uint64_t wait = sample.headroom() / kBytesPerMillisecond;
  const auto longest = static_cast<std::uint64_t>(kLongestPoll.count());
  return std::max(kShortestPoll, std::chrono::milliseconds(std::min(wait, longest)));
}

}  // namespace warder::watch
