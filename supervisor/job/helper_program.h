// The programs that secrets are asked of.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace warder::job {

/// The program's absolute path: a name without a slash is looked up in kHelperPath. Errors:
/// NotFound and Config, when nothing there can be executed.
base::Result<std::string> findHelper(const std::string& program);

}  // namespace warder::job
