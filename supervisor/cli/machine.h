// What this machine must offer before a box can be made.
#pragma once
#include "supervisor/base/result.h"

namespace warder::cli {

/// Errors: Kernel with what to do. An ordinary user needs Landlock's signal scope: with one uid in
/// the box it is a wall that nothing else replaces.
base::Status checkMachine();

}  // namespace warder::cli
