// The broker's own seccomp filter.
#pragma once
#include "supervisor/base/result.h"

namespace warder::secrets {

/// From here on this process cannot start or become another program, look into other processes, or
/// change a file: those system calls fail with EPERM. Set after set-up, for all threads to come.
/// Errors: Kernel.
base::Status confineBroker();

}  // namespace warder::secrets
