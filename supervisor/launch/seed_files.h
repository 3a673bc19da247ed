// What an agent must find in its home at its first start, so that it asks nobody (BC-043).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/base/result.h"

namespace warder::launch {

struct Seed {
  std::string path;  // below the home folder
  base::json::object content;
};

/// `json` with "${WORKSPACE}" in keys and texts replaced. Pure. Errors: Config when it is no
/// object.
base::Result<base::json::object> seedContent(std::string_view json, const std::string& workspace);

/// Adds the keys of `seed` that `into` does not have, in objects of both likewise; whatever `into`
/// says already stays. True when something was added. Pure.
bool mergeMissing(base::json::object& into, const base::json::object& seed);

/// Makes or completes the files below `home`, as the caller's user; for the agent's own process,
/// after it became the agent. A file that is there and is no JSON object of at most 1 MiB, or is no
/// regular file, is left as it is. A new file has mode 0600; one that is completed keeps its mode,
/// and is replaced whole. Errors: Kernel, naming the file.
base::Status seedFiles(const std::string& home, const std::vector<Seed>& seeds);

inline constexpr std::size_t kLargestSeeded = 1024 * 1024;

}  // namespace warder::launch
