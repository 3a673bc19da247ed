// One bind mount with the attributes it needs, attached in one step.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace warder::launch {

struct BindMount {
  std::string from;
  std::string to;  // exists already, of the same kind (file or folder)
  bool read_only = true;
  bool devices = false;   // device files work below it
  std::string uid_map{};  // not empty: ids are shown mapped (see swappedIds)
  std::string gid_map{};
};

/// Clones the tree at `from` with all mounts below it, sets the attributes on the whole clone
/// (never set-user-id), and only then attaches it, so it is at no time visible without them.
base::Status bindMount(const BindMount& bind);

}  // namespace warder::launch
