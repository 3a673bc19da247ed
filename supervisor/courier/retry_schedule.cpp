#include "supervisor/courier/retry_schedule.h"

#include <algorithm>

namespace warder::courier {

std::chrono::milliseconds RetrySchedule::next(double chance,
                                              std::optional<std::chrono::seconds> asked) {
  const std::chrono::milliseconds doubled = kFirst * (1 << std::min(failures_, 16u));
  const auto window = std::min(doubled, cap_);
  if (failures_ < 16) ++failures_;
  const auto pause = std::chrono::milliseconds(
      static_cast<std::int64_t>(chance * static_cast<double>(window.count())));
  if (asked) return std::max<std::chrono::milliseconds>(pause, *asked);
  return pause;
}

}  // namespace warder::courier
