// Real processes: what blockAll changes, what a signal descriptor reads, what the reaper collects.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "supervisor/watch/reaper.h"
#include "supervisor/watch/signals.h"

namespace warder::watch {
namespace {

/// Runs `body` in a child with a clean signal state; its return value is the exit code.
int inChild(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pid_t start(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  return pid;
}

/// Waits until the descriptor has something to say; false when it never does.
bool readable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 20'000) == 1;
}

/// Reaps until `count` children were collected.
std::map<pid_t, Ended> collect(int fd, std::size_t count) {
  std::map<pid_t, Ended> all;
  while (all.size() < count) {
    for (const Ended& ended : reapAll()) all[ended.pid] = ended;
    if (all.size() >= count || !readable(fd)) break;
    readSignals(fd);
  }
  return all;
}

TEST(BlockAll, BlocksWhatCanBeForwardedAndLeavesCrashesAlone) {
  EXPECT_EQ(inChild([] {
              blockAll();
              sigset_t now;
              ::sigprocmask(SIG_SETMASK, nullptr, &now);
              for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR2, SIGTSTP, SIGPIPE,
                                       SIGRTMIN, SIGRTMAX})
                if (sigismember(&now, number) != 1) return number;
              for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
                if (sigismember(&now, number) != 0) return number;
              return 0;
            }),
            0);
}

TEST(InheritedMask, IsTheCurrentOneInAProgramWithoutTheEntryPoint) {
  EXPECT_EQ(inChild([] {
              sigset_t before;
              sigemptyset(&before);
              sigaddset(&before, SIGUSR1);
              ::sigprocmask(SIG_SETMASK, &before, nullptr);
              const sigset_t mask = inheritedMask();
              if (sigismember(&mask, SIGUSR1) != 1) return 1;
              return sigismember(&mask, SIGTERM) == 0 ? 0 : 2;
            }),
            0);
}

TEST(SignalNumber, ReadsNamesAndNumbersAndNothingElse) {
  EXPECT_EQ(signalNumber("TERM"), SIGTERM);
  EXPECT_EQ(signalNumber("SIGUSR2"), SIGUSR2);
  EXPECT_EQ(signalNumber("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(signalNumber("RTMIN"), SIGRTMIN);
  EXPECT_EQ(signalNumber("1"), 1);
  EXPECT_EQ(signalNumber("64"), 64);
  EXPECT_EQ(signalNumber("RTMAX"), SIGRTMAX);
  EXPECT_EQ(signalNumber("SIGRTMAX-2"), SIGRTMAX - 2);
  EXPECT_EQ(signalNumber("RTMAX-30"), SIGRTMIN);
  for (const char* name : {"RTMAX-31", "RTMAX+1", "RTMAX-", "RTMAX--1", "RTMAX-1x", "RTMAXX"})
    EXPECT_EQ(signalNumber(name), 0) << name;
  for (const char* none : {"", "0", "65", "-1", "TERMS", "SIG", "15x", "RTMIN+31"})
    EXPECT_EQ(signalNumber(none), 0) << none;
}

TEST(BlockAll, TakesBackAnIgnoredChildSignalSoThatExitCodesAreKept) {
  EXPECT_EQ(inChild([] {
              ::signal(SIGCHLD, SIG_IGN);
              blockAll();
              if (!inheritedChildIgnored()) return 1;
              auto fd = openSignalFd();
              start([] { return 7; });
              const auto all = collect(fd->get(), 1);
              return all.size() == 1 && all.begin()->second.code == 7 ? 0 : 2;
            }),
            0);
}

TEST(BlockAll, StillLetsTheProcessDieOfItsOwnCrash) {
  EXPECT_EQ(inChild([] {
              ::signal(SIGABRT, SIG_DFL);
              blockAll();
              ::raise(SIGABRT);
              return 0;
            }),
            128 + SIGABRT);
}

TEST(SignalFd, ReadsEveryWaitingSignalAtOnceAndNothingWhenThereIsNone) {
  EXPECT_EQ(inChild([] {
              blockAll();
              auto fd = openSignalFd();
              if (!readSignals(fd->get()).empty()) return 1;
              for (int i = 0; i < 40; ++i) ::kill(::getpid(), SIGRTMIN + 1);
              ::kill(::getpid(), SIGTERM);
              const auto all = readSignals(fd->get());
              if (all.size() != 41) return 2;
              const bool termed = std::any_of(all.begin(), all.end(), [](const auto& info) {
                return info.ssi_signo == SIGTERM;
              });
              return termed ? 0 : 3;
            }),
            0);
}

TEST(Reaper, CollectsManyDeathsBehindOneSignal) {
  EXPECT_EQ(inChild([] {
              blockAll();
              auto fd = openSignalFd();
              std::map<pid_t, int> expected;
              for (int code = 0; code < 50; ++code) expected[start([code] { return code; })] = code;
              const auto all = collect(fd->get(), expected.size());
              for (const auto& [pid, code] : expected) {
                const auto found = all.find(pid);
                if (found == all.end() || found->second.signaled || found->second.code != code)
                  return 1;
              }
              return reapAll().empty() ? 0 : 2;
            }),
            0);
}

TEST(Reaper, TellsASignalFromAnExitCode) {
  EXPECT_EQ(inChild([] {
              blockAll();
              auto fd = openSignalFd();
              const pid_t killed = start([] { return ::pause(); });
              const pid_t left = start([] { return 137; });
              ::kill(killed, SIGKILL);
              auto all = collect(fd->get(), 2);
              if (!all[killed].signaled || all[killed].code != SIGKILL) return 1;
              return !all[left].signaled && all[left].code == 137 ? 0 : 2;
            }),
            0);
}

TEST(Reaper, CollectsOrphansThatItAdopted) {
  EXPECT_EQ(inChild([] {
              ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
              blockAll();
              auto fd = openSignalFd();
              start([] {
                start([] { return 5; });
                return 0;
              });
              const auto all = collect(fd->get(), 2);
              return std::any_of(all.begin(), all.end(),
                                 [](const auto& one) { return one.second.code == 5; })
                         ? 0
                         : 1;
            }),
            0);
}

TEST(Reaper, MeasuresTheLargestResidentSet) {
  EXPECT_EQ(inChild([] {
              blockAll();
              auto fd = openSignalFd();
              constexpr std::size_t kSize = 64 << 20;
              const pid_t pid = start([] {
                std::string block(kSize, 'x');
                return block.back() == 'x' ? 0 : 1;
              });
              auto all = collect(fd->get(), 1);
              return all[pid].max_rss_bytes >= kSize ? 0 : 1;
            }),
            0);
}

TEST(Reaper, NeverBlocksOnChildrenThatLive) {
  EXPECT_EQ(inChild([] {
              blockAll();
              const pid_t pid = start([] { return ::pause(); });
              const bool none = reapAll().empty();
              ::kill(pid, SIGKILL);
              return none ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace warder::watch
