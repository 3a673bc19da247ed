// The copy of a run's results for people: a folder named by the run.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "supervisor/base/result.h"

namespace warder::report {

/// Fills TARGET/RUN_ID with report.json, run.json, stdout.log, stderr.log, changes.patch and
/// artifacts/… (folders 0755, files 0644). An attempt after the first goes to RUN_ID.ATTEMPT. The
/// folder appears complete or not at all; one of the same run and attempt is replaced, any other
/// is refused, so that no file of an older run is ever seen in it (BC-101). Artifacts whose name
/// cannot be a file here lie in artifacts-by-digest/HEX. Every copied blob is compared with its
/// digest. Nothing is written through a symbolic link below TARGET.
/// A log of more than `largest_log` bytes is left out: it stays in the spool.
/// Errors: NotFound, Kernel, Config when the spool or the target is not what it should be.
base::Status exportResults(const std::string& run_dir, const std::string& target_dir,
                           std::uint64_t largest_log = std::numeric_limits<std::uint64_t>::max());

}  // namespace warder::report
