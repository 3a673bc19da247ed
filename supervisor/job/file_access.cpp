// Who can read and change a file of this machine. Part of job_files.h.
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "supervisor/base/fd.h"
#include "supervisor/job/job_files.h"

namespace warder::job {

namespace {

bool isRootsAlone(const struct stat& file) {
  const bool group = (file.st_mode & S_IWGRP) != 0 && file.st_gid != 0;
  return file.st_uid == 0 && !group && (file.st_mode & S_IWOTH) == 0;
}

}  // namespace

bool canRead(const struct stat& file, const User& user) {
  if (file.st_uid == user.uid) return true;
  if (file.st_gid == user.gid && (file.st_mode & S_IRGRP) != 0) return true;
  return (file.st_mode & S_IROTH) != 0;
}

bool canWrite(const struct stat& file, const User& user) {
  if (file.st_uid == user.uid) return true;
  if (file.st_gid == user.gid && (file.st_mode & S_IWGRP) != 0) return true;
  return (file.st_mode & S_IWOTH) != 0;
}

bool onlyRootCanChange(const std::string& path) {
  if (::geteuid() != 0) return true;
  struct stat file {};
  struct stat folder {};
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (::stat(path.c_str(), &file) != 0 || ::stat(parent.c_str(), &folder) != 0) return false;
  // In a sticky folder only the owner of an entry can replace it.
  const bool sticky = folder.st_uid == 0 && (folder.st_mode & S_ISVTX) != 0;
  return isRootsAlone(file) && (sticky || isRootsAlone(folder));
}

bool hasOwnUid(const User& user) {
  if (::geteuid() != 0) return false;
  const auto text = base::readFile("/proc/self/uid_map", 64 * 1024);
  if (!text) return false;
  std::istringstream lines(*text);
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  while (lines >> inside >> outside >> count) {
    if (user.uid >= inside && user.uid - inside < count) return true;
  }
  return false;
}

}  // namespace warder::job
