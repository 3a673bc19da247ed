#include "supervisor/boot/power.h"

#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

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
