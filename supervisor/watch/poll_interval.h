// How soon to look at memory again. Pure.
#pragma once
#include <chrono>

#include "supervisor/watch/memory_probe.h"

namespace warder::watch {

/// The fastest growth that we reckon with: what one process writes to fresh memory.
inline constexpr std::uint64_t kFastestGrowthBytesPerSecond = 3'000'000'000;
inline constexpr std::chrono::milliseconds kShortestPoll{10};
inline constexpr std::chrono::milliseconds kLongestPoll{500};

/// An eighth of the time that the fastest growth needs to use up the headroom, between
/// kShortestPoll and kLongestPoll: 1 GB left gives 41 ms, 240 MB or less gives 10 ms. One look
/// costs a few microseconds.
std::chrono::milliseconds pollInterval(const MemorySample& sample);

}  // namespace warder::watch
