#include "supervisor/report/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace warder::report {

base::Result<base::UniqueFd> openBeneath(int folder, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;  // openat2 wants no idle flags
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  if (fd < 0) return base::kernelError("cannot open it");
  return base::UniqueFd(static_cast<int>(fd));
}

const char* kindOf(mode_t mode) {
  if (S_ISLNK(mode)) return "is a symbolic link";
  if (S_ISFIFO(mode)) return "is a pipe";
  if (S_ISSOCK(mode)) return "is a socket";
  return "is a device";
}

}  // namespace warder::report
