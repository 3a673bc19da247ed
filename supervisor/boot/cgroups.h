// Control groups of the machine: one for ourselves, one for the broker, one below which agent and
// tools live.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::boot {

inline constexpr const char* kCgroupRoot = "/sys/fs/cgroup";

struct Cgroups {
  std::string root;        // empty when there are none
  std::string supervisor;  // PID 1 and the stages
  std::string broker;
  std::string agent;                     // below workload
  std::string tools;                     // below workload
  std::vector<std::string> controllers;  // handed down, of memory, pids, cpu
};

/// Which of memory, pids and cpu a cgroup.controllers file names, in this order. Pure.
std::vector<std::string> wantedControllers(std::string_view available);

/// Makes the groups in a mounted cgroup2, moves this process into its own, and then hands the
/// controllers down: the kernel refuses the other order. Each controller that this kernel lacks is
/// one sentence in `warnings`. Errors: Kernel.
base::Result<Cgroups> makeCgroups(const std::string& root, std::vector<std::string>& warnings);

}  // namespace warder::boot
