#include "supervisor/boot/power.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>
#include <sstream>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/boot/console.h"

namespace warder::boot {

namespace {

constexpr std::size_t kMostMountTable = 1 << 20;

/// Last mounted, first unmounted. What is in use (our own root) becomes read-only, so that its file
/// system is whole when the machine is gone.
void unmountAll() {
  auto table = base::readFile("/proc/self/mounts", kMostMountTable);
  if (!table) return;
  struct Mount {
    std::string target, type;
  };
  std::vector<Mount> mounts;
  std::istringstream in(*table);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string source;
    Mount mount;
    words >> source >> mount.target >> mount.type;
    mounts.push_back(std::move(mount));
  }
  for (auto mount = mounts.rbegin(); mount != mounts.rend(); ++mount) {
    // These hold nothing, and we speak through them.
    if (mount->type == "proc" || mount->type == "sysfs" || mount->type == "devtmpfs") continue;
    if (::umount2(mount->target.c_str(), UMOUNT_NOFOLLOW) == 0) continue;
    ::mount(nullptr, mount->target.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr);
  }
}

// What the handler needs: it may call nothing that is not async-signal-safe (signal-safety(7)).
int crash_command = RB_POWER_OFF;

void onCrash(int number) {
  char text[] =
      "\nwarder[boot] exit code 16: the first process crashed (signal 00); its run has no report\n";
  char* digits = std::strstr(text, "00");
  digits[0] = static_cast<char>('0' + number / 10 % 10);
  digits[1] = static_cast<char>('0' + number % 10);
  if (::write(STDERR_FILENO, text, sizeof text - 1) < 0) {
  }
  ::sync();
  ::tcdrain(STDERR_FILENO);
  ::reboot(crash_command);
  ::_exit(16);
}

int commandOf(End end) {
  switch (end) {
    case End::PowerOff:
      return RB_POWER_OFF;
    case End::Reboot:
      return RB_AUTOBOOT;
    case End::Halt:
      return RB_HALT_SYSTEM;
  }
  return RB_POWER_OFF;
}

}  // namespace

void guardAgainstCrash(End end) {
  crash_command = commandOf(end);
  // A crash may be of the stack itself.
  static char stack[64 * 1024];
  const stack_t own{stack, 0, sizeof stack};
  ::sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    ::sigaction(number, &action, nullptr);
}

void powerDown(End end) {
  ::sync();
  unmountAll();
  ::sync();
  drainConsole();
  ::reboot(commandOf(end));
  // Not allowed, or not the first process of a kernel: the end of PID 1 is the only end left.
  say(base::kernelError("the machine cannot " + std::string(nameOf(end))).sentence());
  ::_exit(16);
}

}  // namespace warder::boot
