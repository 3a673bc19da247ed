// Who we are. Part of machine.h.
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "supervisor/base/fd.h"
#include "supervisor/boot/machine.h"

namespace warder::boot {

namespace {

constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;

/// The inode of our pid namespace, read below the folder `proc`; 0 when it cannot be read.
ino_t pidNamespace(int proc) {
  struct stat found {};
  return ::fstatat(proc, "self/ns/pid", &found, 0) == 0 ? found.st_ino : 0;
}

/// A proc that is mounted nowhere. Only the privileged can make one.
base::UniqueFd unmountedProc() {
  const base::UniqueFd made(
      static_cast<int>(::syscall(SYS_fsopen, "proc", static_cast<unsigned>(FSOPEN_CLOEXEC))));
  if (!made || ::syscall(SYS_fsconfig, made.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return {};
  return base::UniqueFd(static_cast<int>(
      ::syscall(SYS_fsmount, made.get(), static_cast<unsigned>(FSMOUNT_CLOEXEC), 0)));
}

}  // namespace

bool isFirstProcessOfKernel() {
  if (::getpid() != 1) return false;
  struct statfs there {};
  if (::statfs("/proc", &there) == 0 && there.f_type == PROC_SUPER_MAGIC)
    if (auto proc = base::openFile("/proc", O_PATH | O_DIRECTORY))
      return pidNamespace(proc->get()) == kFirstPidNamespace;
  const auto proc = unmountedProc();
  return proc && pidNamespace(proc.get()) == kFirstPidNamespace;
}

bool isInInitramfs() {
  struct statfs root {};
  if (::statfs("/", &root) != 0) return false;
  return (root.f_type == RAMFS_MAGIC || root.f_type == TMPFS_MAGIC) && ::access("/init", F_OK) == 0;
}

}  // namespace warder::boot
