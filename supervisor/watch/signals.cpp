#include "supervisor/watch/signals.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

namespace warder::watch {

std::uint64_t maskAtEntry();  // entry_point.cpp

namespace {

/// The kernel's own view of a signal set: one bit a signal. The C library's calls leave out the
/// two signals that it keeps for itself (32 and 33), which may arrive from outside all the same.
using KernelSet = std::uint64_t;

constexpr std::array kCrashSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
constexpr int kFirstRealTime = 34;  // SIGRTMIN as the C library counts it
constexpr int kLastSignal = 64;
constexpr std::size_t kMostAtOnce = 16;

bool child_ignored = false;  // of the one process that this is

constexpr KernelSet kNotEntered = KernelSet{1} << (SIGKILL - 1);

constexpr KernelSet allButCrashes() {
  KernelSet set = ~KernelSet{0};
  for (const int number : kCrashSignals) set &= ~(KernelSet{1} << (number - 1));
  return set;
}

}  // namespace

sigset_t inheritedMask() {
  sigset_t mask;
  sigemptyset(&mask);
  static_assert(sizeof mask >= sizeof(KernelSet));
  KernelSet set = maskAtEntry();
  if ((set & kNotEntered) != 0)
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &set, sizeof set);
  std::memcpy(&mask, &set, sizeof set);
  return mask;
}

void restoreInheritedMask() {
  const KernelSet set = maskAtEntry();
  if ((set & kNotEntered) == 0)
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, nullptr, sizeof set);
}

bool inheritedChildIgnored() {
  return child_ignored;
}

void blockAll() {
  const KernelSet wanted = allButCrashes();
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &wanted, nullptr, sizeof wanted);
  struct sigaction child {};
  if (::sigaction(SIGCHLD, nullptr, &child) == 0 && child.sa_handler == SIG_IGN) {
    child_ignored = true;
    child = {};
    child.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &child, nullptr);
  }
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

int signalNumber(std::string_view name) {
  int number = 0;
  const char* end = name.data() + name.size();
  if (const auto read = std::from_chars(name.data(), end, number);
      read.ec == std::errc() && read.ptr == end)
    return number > 0 && number <= kLastSignal ? number : 0;
  std::string full(name);
  if (!full.starts_with("SIG")) full.insert(0, "SIG");
  if (full == "SIGRTMIN") return kFirstRealTime;
  constexpr std::string_view kFromLast = "SIGRTMAX";
  if (full.starts_with(kFromLast)) {
    full.erase(0, kFromLast.size());
    if (full.empty()) return kLastSignal;
    const auto read = std::from_chars(full.data() + 1, full.data() + full.size(), number);
    const bool whole = read.ec == std::errc() && read.ptr == full.data() + full.size();
    return whole && full[0] == '-' && number >= 0 && number <= kLastSignal - kFirstRealTime
               ? kLastSignal - number
               : 0;
  }
  for (int candidate = 1; candidate <= kLastSignal; ++candidate)
    if (signalName(candidate) == full) return candidate;
  return 0;
}

bool isHandedOn(int number) {
  return number != SIGKILL && number != SIGSTOP && number != SIGCHLD &&
         (allButCrashes() >> (number - 1) & 1) != 0;
}

std::string signalName(int number) {
  if (number >= kFirstRealTime && number <= kLastSignal)
    return "SIGRTMIN+" + std::to_string(number - kFirstRealTime);
  const char* name = number > 0 && number <= kLastSignal ? ::sigabbrev_np(number) : nullptr;
  if (name == nullptr) return "signal " + std::to_string(number);
  return std::string("SIG") + name;
}

}  // namespace warder::watch
