// Small steps on files and mounts, each with a sentence when it fails.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace warder::boot {

/// A folder with exactly this mode; one that is there already is left as it is.
base::Status makeFolder(const std::string& path, mode_t mode = 0755);
/// The whole content of a new or existing file.
base::Status writeText(const std::string& path, std::string_view text, mode_t mode = 0644);
/// A link; one that is there already is left as it is.
base::Status makeLink(const std::string& target, const std::string& path);
/// As makeFolder for every folder on the way to `path`, which itself is not made.
base::Status makeFoldersTo(const std::string& path, mode_t mode = 0755);

struct MountStep {
  std::string type;
  std::string source;
  std::string target;
  unsigned long flags = 0;
  std::string options;
};
/// Makes the folder and mounts on it. Errors: Kernel; the sentence names type and place.
base::Status mountOn(const MountStep& step);

/// Asks every 10 ms until `ready`, at most `limit_ms`; whether it became so.
bool waitFor(const std::function<bool()>& ready, int limit_ms);

}  // namespace warder::boot
