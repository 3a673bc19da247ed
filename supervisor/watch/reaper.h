// The only place that waits for processes. Two waiters would steal each other's statuses.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace warder::watch {

/// One process that is gone, with what the kernel remembers of it.
struct Ended {
  pid_t pid = 0;
  bool signaled = false;
  int code = 0;  // exit code, or the signal's number when `signaled`
  bool core_dumped = false;
  std::chrono::milliseconds cpu{0};  // user and system time, with the children it waited for
  std::uint64_t max_rss_bytes = 0;   // largest resident set of the process or of one such child
};

/// Collects every child that has ended, adopted orphans and clone children too; never blocks. Call
/// on each SIGCHLD and once after it was unblocked. The caller knows which pid is whose; pids that
/// it does not know were orphans.
/// Source: wait4(2), __WALL; getrusage(2).
std::vector<Ended> reapAll();

/// Is there any child, living or not collected yet? For an init or subreaper: anything below it at
/// all, because whatever loses its parent becomes its child. Source: waitid(2), ECHILD.
bool hasChildren();

/// Did this child stop (job control) since the last call? Source: waitid(2), WSTOPPED.
bool hasStopped(pid_t child);

}  // namespace warder::watch
