#include "supervisor/boot/etc_files.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/boot/file_steps.h"

namespace warder::boot {

using base::Status;

namespace {

constexpr const char* kInMemory = "/run/warder/etc";

Status showFromMemory(const std::string& name, std::string_view text) {
  const std::string copy = std::string(kInMemory) + "/" + name;
  if (auto made = makeFoldersTo(copy); !made) return made;
  if (auto written = writeText(copy, text); !written) return written;
  if (::mount(copy.c_str(), ("/etc/" + name).c_str(), nullptr, MS_BIND, nullptr) != 0)
    return base::kernelError("cannot show " + copy + " in its place");
  return {};
}

}  // namespace

void writeEtc(const std::string& name, std::string_view text, std::vector<std::string>& warnings) {
  const std::string path = "/etc/" + name;
  // An image may leave a link to a service's file that does not run here.
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode)) ::unlink(path.c_str());
  const auto written = writeText(path, text);
  if (written) return;
  const auto shown = showFromMemory(name, text);
  if (shown)
    warnings.push_back("root: " + path + " is kept in memory, because " +
                       written.error().sentence());
  else
    warnings.push_back("root: " + path + " cannot be written: " + written.error().sentence() +
                       "; " + shown.error().sentence());
}

}  // namespace warder::boot
