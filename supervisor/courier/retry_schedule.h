// When to try again: full jitter, doubling, with a cap; ended by a deadline, never by a count.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

namespace warder::courier {

class RetrySchedule {
 public:
  /// The next pause. `chance` in [0, 1): a uniform random number. `asked`: what the other end
  /// asked for (Retry-After), honoured as the least.
  std::chrono::milliseconds next(double chance, std::optional<std::chrono::seconds> asked);
  /// Something worked.
  void reset() { failures_ = 0; }
  /// Results wait for this only: pauses of at most 5 s instead of 30.
  void hurry() { cap_ = kHurriedCap; }

  static constexpr std::chrono::milliseconds kFirst{250};
  static constexpr std::chrono::milliseconds kCap{30'000};
  static constexpr std::chrono::milliseconds kHurriedCap{5'000};

 private:
  std::chrono::milliseconds cap_ = kCap;
  unsigned failures_ = 0;
};

}  // namespace warder::courier
