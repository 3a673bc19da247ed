#include "supervisor/watch/signals.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace warder::watch {

namespace {

/// The kernel's own view of a signal set: one bit a signal. The C library's calls leave out the
/// two signals that it keeps for itself (32 and 33), which may arrive from outside all the same.
using KernelSet = std::uint64_t;

constexpr std::array kCrashSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
constexpr int kFirstRealTime = 34;  // SIGRTMIN as the C library counts it
constexpr int kLastSignal = 64;
constexpr std::size_t kMostAtOnce = 16;

constexpr KernelSet allButCrashes() {
  KernelSet set = ~KernelSet{0};
  for (const int number : kCrashSignals) set &= ~(KernelSet{1} << (number - 1));
  return set;
}

}  // namespace

SignalMask blockAll() {
  SignalMask mask{};
  sigemptyset(&mask.before);
  static_assert(sizeof mask.before >= sizeof(KernelSet));
  KernelSet before = 0;
  const KernelSet wanted = allButCrashes();
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &wanted, &before, sizeof wanted);
  std::memcpy(&mask.before, &before, sizeof before);
  struct sigaction child {};
  if (::sigaction(SIGCHLD, nullptr, &child) == 0 && child.sa_handler == SIG_IGN) {
    mask.child_signal_was_ignored = true;
    child = {};
    child.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &child, nullptr);
  }
  return mask;
}

base::Result<base::UniqueFd> openSignalFd() {
  sigset_t set;
  sigemptyset(&set);
  const KernelSet wanted = allButCrashes();
  std::memcpy(&set, &wanted, sizeof wanted);
  base::UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return base::kernelError("cannot make a signal descriptor");
  return fd;
}

std::vector<signalfd_siginfo> readSignals(int fd) {
  std::vector<signalfd_siginfo> all;
  for (;;) {
    std::array<signalfd_siginfo, kMostAtOnce> some;
    const ssize_t count = ::read(fd, some.data(), sizeof some);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.insert(all.end(), some.begin(),
               some.begin() + count / static_cast<ssize_t>(sizeof(signalfd_siginfo)));
  }
}

std::string signalName(int number) {
  if (number >= kFirstRealTime && number <= kLastSignal)
    return "SIGRTMIN+" + std::to_string(number - kFirstRealTime);
  const char* name = number > 0 && number <= kLastSignal ? ::sigabbrev_np(number) : nullptr;
  if (name == nullptr) return "signal " + std::to_string(number);
  return std::string("SIG") + name;
}

}  // namespace warder::watch
