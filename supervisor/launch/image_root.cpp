#include "supervisor/launch/image_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>

#include "supervisor/base/fd.h"
#include "supervisor/launch/bind_mount.h"

namespace warder::launch {

using base::kernelError;
using base::Status;
using base::UniqueFd;
namespace fs = std::filesystem;

namespace {

std::string byFd(const UniqueFd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

class Mirror {
 public:
  explicit Mirror(const ImageRoot& root) : root_(root) {}

  /// Shows what `folder` (at `path` of the image, "" for its root) holds.
  Status showEntries(const UniqueFd& folder, const std::string& path) {
    std::error_code failure;
    fs::directory_iterator entries(byFd(folder), failure);
    if (failure) return kernelError("cannot read " + named(path), failure.value());
    for (; entries != fs::directory_iterator(); entries.increment(failure)) {
      const std::string entry = path + "/" + entries->path().filename().string();
      if (isOurs(entry)) continue;
      if (auto shown = showEntry(entries->path().string(), entry); !shown) return shown;
    }
    if (failure) return kernelError("cannot read " + named(path), failure.value());
    return {};
  }

 private:
  std::string named(const std::string& path) const { return root_.image + path; }
  std::string at(const std::string& path) const { return root_.mount_point + path; }

  bool isOurs(const std::string& path) const {
    return std::find(root_.ours.begin(), root_.ours.end(), path) != root_.ours.end();
  }

  bool leadsToOurs(const std::string& path) const {
    return std::any_of(root_.ours.begin(), root_.ours.end(),
                       [&](const std::string& our) { return our.rfind(path + "/", 0) == 0; });
  }

  Status showEntry(const std::string& by_fd, const std::string& path) {
    auto entry = base::openFile(by_fd, O_PATH | O_NOFOLLOW);
    if (!entry) return entry.error().during("showing " + named(path));
    struct stat facts {};
    if (::fstat(entry->get(), &facts) != 0) return kernelError("cannot look at " + named(path));
    if (S_ISLNK(facts.st_mode)) return leadsToOurs(path) ? Status() : showLink(*entry, path);
    if (S_ISDIR(facts.st_mode)) return showFolder(*entry, path);
    return S_ISREG(facts.st_mode) ? showFile(*entry, path) : Status();
  }

  Status showLink(const UniqueFd& link, const std::string& path) {
    std::string target(PATH_MAX, '\0');
    const ssize_t length = ::readlinkat(link.get(), "", target.data(), target.size());
    if (length < 0) return kernelError("cannot read the link " + named(path));
    target.resize(static_cast<std::size_t>(length));
    if (::symlink(target.c_str(), at(path).c_str()) != 0 && errno != EEXIST)
      return kernelError("cannot make the link " + path);
    return {};
  }

  Status showFolder(const UniqueFd& folder, const std::string& path) {
    if (::mkdir(at(path).c_str(), 0755) != 0 && errno != EEXIST)
      return kernelError("cannot make " + path);
    if (leadsToOurs(path)) return showEntries(folder, path);
    return bind(folder, path);
  }

  Status showFile(const UniqueFd& file, const std::string& path) {
    if (auto made = base::openFile(at(path), O_WRONLY | O_CREAT, 0644); !made) return made.error();
    return bind(file, path);
  }

  Status bind(const UniqueFd& from, const std::string& path) {
    if (auto bound = bindMount({byFd(from), at(path), true, false}); !bound)
      return bound.error().during("showing " + named(path));
    return {};
  }

  const ImageRoot& root_;
};

}  // namespace

Status showImage(const ImageRoot& root) {
  auto folder = base::openFile(root.image, O_PATH | O_DIRECTORY);
  if (!folder) return folder.error().during("showing the image");
  return Mirror(root).showEntries(*folder, "");
}

}  // namespace warder::launch
