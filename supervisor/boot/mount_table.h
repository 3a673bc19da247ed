// What is mounted where in a machine of ours. Pure.
#pragma once
#include <vector>

#include "supervisor/boot/file_steps.h"
#include "supervisor/boot/settings.h"

namespace warder::boot {

/// proc, sysfs and devtmpfs below `root` ("" for the root itself).
std::vector<MountStep> kernelMounts(const std::string& root);

/// Everything that programs expect beyond them, in order.
std::vector<MountStep> machineMounts(const Settings& settings);

/// Below this, programs that share memory by files die of SIGBUS without saying why (browsers).
inline constexpr std::uint64_t kSmallShm = std::uint64_t{256} * 1024 * 1024;

/// What to say of a /dev/shm of `bytes`; empty when it is large enough.
std::string shmWarning(std::uint64_t bytes);

}  // namespace warder::boot
