#include "supervisor/watch/marks.h"

namespace warder::watch {

namespace {
/// `percent` of `bytes`, without overflow.
std::uint64_t share(std::uint64_t bytes, int percent) {
  const auto factor = static_cast<std::uint64_t>(percent > 0 ? percent : 0);
  return bytes / 100 * factor + bytes % 100 * factor / 100;
}
}  // namespace

MarkTracker::MarkTracker(std::vector<int> percents) {
  for (const int percent : percents) marks_.push_back({percent});
}

std::vector<MarkCrossed> MarkTracker::step(const MemorySample& sample) {
  std::vector<MarkCrossed> crossed;
  if (sample.limit_bytes == 0) return crossed;
  for (Mark& mark : marks_) {
    if (mark.armed && sample.used_bytes >= share(sample.limit_bytes, mark.percent)) {
      mark.armed = false;
      crossed.push_back({mark.percent, sample});
    } else if (!mark.armed &&
               sample.used_bytes < share(sample.limit_bytes, mark.percent - kRearmPoints)) {
      mark.armed = true;
    }
  }
  return crossed;
}

}  // namespace warder::watch
