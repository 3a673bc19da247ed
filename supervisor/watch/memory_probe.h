// How much memory there is, how much is taken, and whether the kernel killed for it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"

namespace warder::watch {

/// Where to look; tests put a literal tree here.
struct MemoryPaths {
  std::string cgroup = "/sys/fs/cgroup";
  std::string proc = "/proc";
};

enum class MemorySource { CgroupV2, CgroupV1, Meminfo };
/// "cgroup2", "cgroup1", "meminfo".
std::string_view nameOf(MemorySource source);

/// One look at memory. Bytes.
struct MemorySample {
  std::uint64_t limit_bytes = 0;    // the limit that binds
  std::uint64_t used_bytes = 0;     // what cannot be reclaimed; page cache is not in it
  std::uint64_t current_bytes = 0;  // all that is charged, page cache included
  std::uint64_t peak_bytes = 0;     // the largest used_bytes that this probe saw
  MemorySource source = MemorySource::Meminfo;

  std::uint64_t headroom() const { return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0; }
};

/// Keeps its descriptors open: near the limit, open(2) may block or fail where pread(2) works.
/// A probe finds its cgroup once; it stays right as long as the process is not moved.
class MemoryProbe {
 public:
  /// Finds, in this order: the cgroup v2 of this process and its visible ancestors, the memory
  /// controller of cgroup v1, /proc/meminfo. A cgroup counts only if it has a limit below the
  /// machine's memory; otherwise the machine is what binds. Errors: NotFound, Kernel when not
  /// even /proc/meminfo can be read.
  static base::Result<MemoryProbe> open(MemoryPaths roots = {});

  /// The level with the least headroom. Errors: Kernel when a file that was there is gone.
  base::Result<MemorySample> sample();

  /// Processes that the kernel killed for memory in this cgroup (where there is none, on the
  /// machine) since it exists. Compare before and after; 0 where the kernel does not count.
  /// Source: cgroup-v2.rst memory.events:oom_kill; cgroup-v1 memory.oom_control; /proc/vmstat.
  base::Result<std::uint64_t> oomKills() const;

 private:
  /// One cgroup of the v2 path that may have a limit.
  struct Level {
    base::UniqueFd max;
    base::UniqueFd current;
    base::UniqueFd stat;
  };

  MemoryProbe() = default;
  void openV2(const MemoryPaths& roots);
  void openV1(const MemoryPaths& roots);
  base::Result<MemorySample> sampleLevel(const Level& level) const;
  base::Result<MemorySample> sampleV1() const;
  base::Result<MemorySample> sampleMachine() const;
  base::Result<MemorySample> tightest() const;

  std::vector<Level> levels_;  // v2: this cgroup first, then upwards
  Level v1_;                   // `max` is unused: the stat file has the hierarchy's limit
  base::UniqueFd v1_kernel_;
  base::UniqueFd meminfo_;
  base::UniqueFd kills_;
  std::uint64_t machine_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

/// The part of a cgroup's charge that the kernel cannot take back without swap, from the text of
/// memory.stat; pure. `limit_bytes` scales the floor under mapped files: an agent's own binary is
/// 100 to 400 MB of mapped file, and evicting it is thrash, not headroom, so up to 64 MiB of page
/// cache count as taken even when little is mapped, but never more than a sixteenth of the limit
/// (4 MiB of a 64 MiB box) nor more than there is. Pages that two counters name (locked anonymous
/// ones, mapped shared memory) count twice: this errs towards warning early; the probe cuts the
/// sum at what is charged.
std::uint64_t unreclaimableV2(std::string_view memory_stat, std::uint64_t limit_bytes);
/// The same for cgroup v1. `kernel_bytes` is memory.kmem.usage_in_bytes: v1 does not tell which
/// part of it could be reclaimed, so all of it counts.
std::uint64_t unreclaimableV1(std::string_view memory_stat, std::uint64_t kernel_bytes,
                              std::uint64_t limit_bytes);

/// The value of a line "KEY NUMBER" or "KEY: NUMBER kB" (then in bytes); 0 when there is none.
std::uint64_t statValue(std::string_view text, std::string_view key);

}  // namespace warder::watch
