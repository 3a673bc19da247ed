#include "supervisor/watch/reaper.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>

namespace warder::watch {

namespace {

std::chrono::milliseconds durationOf(const timeval& time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec));
}

Ended describe(pid_t pid, int status, const rusage& usage) {
  Ended ended;
  ended.pid = pid;
  ended.signaled = WIFSIGNALED(status);
  ended.code = ended.signaled ? WTERMSIG(status) : WEXITSTATUS(status);
  ended.core_dumped = ended.signaled && WCOREDUMP(status);
  ended.cpu = durationOf(usage.ru_utime) + durationOf(usage.ru_stime);
  ended.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return ended;
}

}  // namespace

std::vector<Ended> reapAll() {
  std::vector<Ended> all;
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG | __WALL, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return all;
    all.push_back(describe(pid, status, usage));
  }
}

bool hasChildren() {
  siginfo_t nothing{};
  return ::waitid(P_ALL, 0, &nothing, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

bool hasStopped(pid_t child) {
  siginfo_t change{};
  return ::waitid(P_PID, static_cast<id_t>(child), &change, WSTOPPED | WNOHANG) == 0 &&
         change.si_pid == child;
}

}  // namespace warder::watch
