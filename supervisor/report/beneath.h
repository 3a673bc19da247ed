// Opening what lies in the workspace without being led out of it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "supervisor/base/fd.h"

namespace warder::report {

/// Opens below `folder` without following a link anywhere on the way, and without waiting for the
/// other end of a pipe. Errors: Kernel. Source: openat2(2), Linux 5.6.
base::Result<base::UniqueFd> openBeneath(int folder, const std::string& path, std::uint64_t flags);

/// "is a pipe", "is a device" …: why something that is no file or folder is not taken.
const char* kindOf(mode_t mode);

}  // namespace warder::report
