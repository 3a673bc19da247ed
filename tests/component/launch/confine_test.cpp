// Each wall is put up in a child process, which then tries to get past it.
#include "supervisor/launch/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>

namespace warder::launch {
namespace {

/// Runs `tries` in a child and reports the number of the first that failed; 0 when all held.
int failedTry(const std::function<int()>& tries) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(tries());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

/// Does this call fail with exactly this errno?
template <class Call>
bool failsWith(int code, Call call) {
  errno = 0;
  return call() < 0 && errno == code;
}

bool filter() {
  return bool(forbidNewPrivileges()) && bool(filterAgentCalls());
}

TEST(CallFilter, AllowsTheSocketsThatProgramsNeed) {
  EXPECT_EQ(failedTry([] {
              if (!filter()) return 100;
              if (::socket(AF_UNIX, SOCK_STREAM, 0) < 0) return 1;
              if (::socket(AF_INET, SOCK_STREAM, 0) < 0) return 2;
              if (::socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP) < 0) return 3;
              if (::socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP) < 0) return 4;
              if (::socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) < 0) return 5;
              int pair[2];
              if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 6;
              return 0;
            }),
            0);
}

TEST(CallFilter, RefusesEveryOtherFamilyAndProtocol) {
  EXPECT_EQ(
      failedTry([] {
        if (!filter()) return 100;
        for (int family = 0; family < 64; ++family) {
          if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
            continue;
          if (!failsWith(EAFNOSUPPORT, [=] { return ::socket(family, SOCK_STREAM, 0); }))
            return 1 + family;
        }
        constexpr int kMptcp = 262;
        for (const int protocol : {int{IPPROTO_ICMP}, int{IPPROTO_SCTP}, int{IPPROTO_RAW}, kMptcp})
          if (!failsWith(EPROTONOSUPPORT, [=] { return ::socket(AF_INET, SOCK_STREAM, protocol); }))
            return 90;
        if (!failsWith(EPROTONOSUPPORT,
                       [] { return ::socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT); }))
          return 91;
        return 0;
      }),
      0);
}

TEST(CallFilter, RefusesNamespacesMountsAndTracing) {
  EXPECT_EQ(
      failedTry([] {
        if (!filter()) return 100;
        if (!failsWith(EPERM, [] { return ::unshare(CLONE_NEWUSER); })) return 1;
        if (!failsWith(EPERM, [] { return ::mount("x", "/mnt", "tmpfs", 0, ""); })) return 2;
        if (!failsWith(EPERM, [] { return ::ptrace(PTRACE_TRACEME, 0, 0, 0); })) return 3;
        if (!failsWith(EPERM, [] { return ::syscall(SYS_bpf, 0, nullptr, 0); })) return 4;
        if (!failsWith(EPERM, [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); })) return 5;
        if (!failsWith(EPERM, [] { return ::syscall(SYS_keyctl, 0, 0, 0, 0, 0); })) return 6;
        if (!failsWith(ENOSYS, [] { return ::syscall(SYS_clone3, nullptr, 0); })) return 7;
        if (!failsWith(EPERM,
                       [] { return ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }))
          return 8;
        if (!failsWith(EPERM, [] { return ::syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0); }))
          return 9;
        return 0;
      }),
      0);
}

TEST(CallFilter, LetsAProcessSetItsOwnLimitsButNotAnothers) {
  EXPECT_EQ(failedTry([] {
              if (!filter()) return 100;
              rlimit now{};
              if (::prlimit(0, RLIMIT_NOFILE, nullptr, &now) != 0) return 1;
              if (!failsWith(EPERM, [] {
                    rlimit other{};
                    return ::prlimit(::getppid(), RLIMIT_NOFILE, nullptr, &other);
                  }))
                return 2;
              return 0;
            }),
            0);
}

TEST(CallFilter, RefusesEveryWayToASetIdFile) {
  EXPECT_EQ(
      failedTry([] {
        char name[] = "/tmp/warder-mode-XXXXXX";
        const int file = ::mkstemp(name);
        const std::string other = std::string(name) + "-2";
        if (!filter()) return 100;
        int failed = 0;
        for (const mode_t mode : {04755U, 02755U, 06777U}) {
          constexpr long kFchmodat2 = 452;
          const char* path = other.c_str();
          if (!failsWith(EPERM, [&] { return ::chmod(name, mode); })) failed = 1;
          if (!failsWith(EPERM, [&] { return ::fchmod(file, mode); })) failed = 2;
          if (!failsWith(EPERM, [&] { return ::fchmodat(AT_FDCWD, name, mode, 0); })) failed = 3;
          if (!failsWith(EPERM, [&] { return ::syscall(kFchmodat2, AT_FDCWD, name, mode, 0); }))
            failed = 4;
          if (!failsWith(EPERM, [&] { return ::mkdir(path, mode); })) failed = 5;
          if (!failsWith(EPERM, [&] { return ::open(path, O_CREAT | O_WRONLY, mode); })) failed = 6;
          if (!failsWith(EPERM, [&] { return ::syscall(SYS_creat, path, mode); })) failed = 7;
          if (!failsWith(EPERM, [&] { return ::open("/tmp", O_TMPFILE | O_WRONLY, mode); }))
            failed = 8;
          if (!failsWith(EPERM, [&] { return ::mknod(path, S_IFREG | mode, 0); })) failed = 9;
          if (!failsWith(EPERM, [&] { return ::syscall(SYS_open, path, O_CREAT | O_RDWR, mode); }))
            failed = 10;
        }
        if (!failsWith(ENOSYS, [&] { return ::syscall(SYS_openat2, 0, name, nullptr, 0); }))
          failed = 11;
        ::unlink(name);
        return failed;
      }),
      0);
}

TEST(CallFilter, AllowsOrdinaryModesAndReadsNoModeWhereThereIsNone) {
  EXPECT_EQ(failedTry([] {
              char name[] = "/tmp/warder-mode-XXXXXX";
              const int file = ::mkstemp(name);
              if (!filter()) return 100;
              int failed = 0;
              if (::chmod(name, 01755) != 0) failed = 1;
              if (::fchmod(file, 0644) != 0) failed = 2;
              if (::syscall(SYS_openat, AT_FDCWD, name, O_RDONLY, 06777) < 0) failed = 3;
              ::unlink(name);
              return failed;
            }),
            0);
}

TEST(CallFilter, LetsProgramsForkAndExecute) {
  EXPECT_EQ(failedTry([] {
              if (!filter()) return 100;
              return WEXITSTATUS(::system("sh -c 'exit 0' & wait $!"));
            }),
            0);
}

TEST(SignalScope, KeepsSignalsInsideTheDomain) {
  if (landlockAbi() < 6) FAIL() << "this kernel has no Landlock ABI 6";
  EXPECT_EQ(failedTry([] {
              if (!forbidNewPrivileges() || !scopeSignals()) return 100;
              if (!failsWith(EPERM, [] { return ::kill(::getppid(), 0); })) return 1;
              if (::kill(::getpid(), 0) != 0) return 2;
              const pid_t child = ::fork();
              if (child == 0) {
                ::pause();
                ::_exit(0);
              }
              if (::kill(child, SIGKILL) != 0) return 3;
              ::waitpid(child, nullptr, 0);
              return 0;
            }),
            0);
}

TEST(Capabilities, AreGoneForGoodOnceDropped) {
  if (::geteuid() != 0) FAIL() << "this test needs root";
  EXPECT_EQ(failedTry([] {
              if (!becomeService(0, 0)) return 100;
              if (::prctl(PR_CAPBSET_READ, 21, 0, 0, 0) != 0) return 1;  // CAP_SYS_ADMIN
              if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 2;
              if (!failsWith(EPERM, [] { return ::setuid(12345) == 0 ? 0 : -1; })) return 3;
              if (!failsWith(EPERM, [] { return ::unshare(CLONE_NEWNS); })) return 4;
              return 0;
            }),
            0);
}

TEST(Identity, IsExactlyTheOneAskedFor) {
  if (::geteuid() != 0) FAIL() << "this test needs root";
  EXPECT_EQ(failedTry([] {
              if (!becomeService(64201, 64200)) return 100;
              uid_t real, effective, saved;
              ::getresuid(&real, &effective, &saved);
              if (real != 64201 || effective != 64201 || saved != 64201) return 1;
              if (::getgroups(0, nullptr) != 0) return 2;
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace warder::launch
