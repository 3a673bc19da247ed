// Numbers that init's files share.
#pragma once
#include <chrono>
#include <cstddef>

namespace warder::init {

/// Tokens of events whose being on disk init waits for.
inline constexpr int kStartToken = 1;
inline constexpr int kFinishToken = 2;

/// Largest event; leaves room for what base::kMaxMessage holds beside it.
inline constexpr std::size_t kMaxEventBytes = 120 * 1024;
/// Words of a command line or lines of a policy that an event repeats, in bytes.
inline constexpr std::size_t kMaxRepeatedBytes = 32 * 1024;

inline constexpr int kMaxCourierStarts = 5;
/// A stage that says nothing for this long while it starts is given up.
inline constexpr std::chrono::milliseconds kStartLimit{10'000};
/// Reading artifacts and making the patch, on every ending.
inline constexpr std::chrono::milliseconds kHarvestLimit{120'000};
inline constexpr std::chrono::milliseconds kBaselineLimit{600'000};
/// What a courier may take beyond its deadline before it is left behind.
inline constexpr std::chrono::milliseconds kCourierSlack{5'000};
/// Between two looks for processes that fork to escape.
inline constexpr std::chrono::milliseconds kLookAgain{20};
/// What the scribe may take for one duty: the start, the rest of the output, the outcome.
inline constexpr std::chrono::milliseconds kClosingLimit{30'000};

}  // namespace warder::init
