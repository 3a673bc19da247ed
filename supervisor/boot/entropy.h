// The kernel's random numbers: keys are made of them, so a boot says when they are not ready.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::boot {

inline constexpr std::size_t kShortestSeed = 32;  // bytes; what the kernel's own pool holds
inline constexpr std::size_t kLongestSeed = 512;

/// Gives the kernel the seed in `file`, credited in full (RNDADDENTROPY, random(4)), and removes
/// the file where it can: a seed serves once. Errors: NotFound, Config for a wrong length, Kernel.
base::Status creditSeed(const std::string& file);

/// Adds a sentence when the kernel's pool is not ready.
void checkEntropy(std::vector<std::string>& warnings);

}  // namespace warder::boot
