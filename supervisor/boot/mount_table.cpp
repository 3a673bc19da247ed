#include "supervisor/boot/mount_table.h"

#include <sys/mount.h>

#include "supervisor/base/units.h"

namespace warder::boot {

namespace {

constexpr unsigned long kNoPrograms = MS_NOSUID | MS_NODEV | MS_NOEXEC;
constexpr unsigned long kNoDevices = MS_NOSUID | MS_NODEV;

std::string sized(const std::string& options, const std::optional<std::uint64_t>& bytes) {
  return bytes ? options + ",size=" + std::to_string(*bytes) : options;
}

}  // namespace

std::vector<MountStep> kernelMounts(const std::string& root) {
  return {{"proc", "proc", root + "/proc", kNoPrograms, ""},
          {"sysfs", "sysfs", root + "/sys", kNoPrograms, ""},
          {"devtmpfs", "dev", root + "/dev", MS_NOSUID, "mode=0755"}};
}

std::vector<MountStep> machineMounts(const Settings& settings) {
  return {{"devpts", "devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "gid=5,mode=620,ptmxmode=666"},
          {"tmpfs", "shm", "/dev/shm", kNoDevices, sized("mode=1777", settings.shm)},
          {"tmpfs", "run", "/run", kNoDevices, "mode=0755"},
          {"tmpfs", "tmp", "/tmp", kNoDevices, sized("mode=1777", settings.tmp)},
          {"cgroup2", "cgroup2", "/sys/fs/cgroup", kNoPrograms, "nsdelegate,memory_recursiveprot"}};
}

std::string shmWarning(std::uint64_t bytes) {
  if (bytes >= kSmallShm) return {};
  return "/dev/shm has " + base::printSize(bytes) +
         "; browsers and other programs that share memory die of SIGBUS when it is full: give the "
         "machine more memory, or set warder.shm";
}

}  // namespace warder::boot
