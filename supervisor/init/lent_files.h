// What a stage is lent by descriptor, because its user may not be allowed to open it by its path.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/launch/spawner.h"

namespace warder::init {

/// How a service names the run's folder, and other things it is lent: through a descriptor, because
/// its user may not be allowed to pass the folders above (a spool below /root or a private
/// temporary folder).
inline std::string pathByFd(int number) {
  return "/proc/self/fd/" + std::to_string(number);
}

/// The service's own id, or 0 (keep ours) where only one id can be used.
inline uid_t serviceUid(bool one_id, uid_t uid) {
  return one_id ? 0 : uid;
}

/// Gives a stage that is about to start descriptors, and says under which numbers it will find
/// them. What is lent stays the caller's and must be open until the stage was started.
class LentFiles {
 public:
  explicit LentFiles(launch::StageStart& start) : start_(start) {}

  int lend(int fd) {
    start_.extra_fds.push_back(fd);
    return base::kFirstExtraFd + static_cast<int>(start_.extra_fds.size()) - 1;
  }

  std::vector<int> lendAll(const std::vector<base::UniqueFd>& fds) {
    std::vector<int> numbers;
    for (const auto& fd : fds) numbers.push_back(lend(fd.get()));
    return numbers;
  }

  /// The path by which the stage opens a copy of the file; empty for an empty path. A copy, because
  /// the stage's user may not be allowed to read the file itself.
  base::Result<std::string> lendFile(const std::string& path);

 private:
  launch::StageStart& start_;
  std::vector<base::UniqueFd> files_;  // open until the stage has its own
};

}  // namespace warder::init
