// Ends the record of a run whose supervisor did not live to do it.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace warder::report {

/// For a run whose journal has no run.finished: appends output.closed for output files that were
/// never closed, stage.lost for init, and run.finished (internal/supervisor_lost), and writes
/// report.json. For a finished run it writes report.json if that is missing, and nothing else.
/// Errors: Denied while the run is still being written, NotFound, Kernel, Config.
base::Status closeInterrupted(const std::string& run_dir);

}  // namespace warder::report
