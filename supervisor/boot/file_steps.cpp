#include "supervisor/boot/file_steps.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/base/fd.h"

namespace warder::boot {

using base::kernelError;
using base::Status;

Status makeFolder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0) {
    if (errno == EEXIST) return {};
    return kernelError("cannot make the folder " + path);
  }
  if (::chmod(path.c_str(), mode) != 0) return kernelError("cannot set the mode of " + path);
  return {};
}

Status writeText(const std::string& path, std::string_view text, mode_t mode) {
  auto file = base::openFile(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
  if (!file) return file.error();
  if (auto written = base::writeAll(file->get(), text); !written)
    return written.error().during("writing " + path);
  return {};
}

Status makeLink(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) != 0 && errno != EEXIST)
    return kernelError("cannot make the link " + path);
  return {};
}

Status makeFoldersTo(const std::string& path, mode_t mode) {
  for (auto at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    if (auto made = makeFolder(path.substr(0, at), mode); !made) return made;
  return {};
}

Status mountOn(const MountStep& step) {
  if (auto made = makeFolder(step.target); !made) return made;
  if (::mount(step.source.c_str(), step.target.c_str(), step.type.c_str(), step.flags,
              step.options.c_str()) != 0)
    return kernelError("cannot mount " + step.type + " on " + step.target);
  return {};
}

bool waitFor(const std::function<bool()>& ready, int limit_ms) {
  constexpr int every_ms = 10;
  for (int waited = 0; !ready(); waited += every_ms) {
    if (waited >= limit_ms) return false;
    ::poll(nullptr, 0, every_ms);
  }
  return true;
}

}  // namespace warder::boot
