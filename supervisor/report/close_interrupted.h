// Ends the record of a run whose supervisor did not live to do it.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace warder::report {

/// For a run whose journal has no run.finished: appends output.closed for output files that were
/// never closed, stage.lost for `lost_stage`, and run.finished (internal/supervisor_lost for
/// "init", internal/scribe_lost for "scribe"), and writes report.json. For a finished run it writes
/// report.json if that is missing, and nothing else.
/// Errors: Denied while the run is still being written, NotFound, Kernel, Config, Internal for any
/// other stage.
base::Status closeInterrupted(const std::string& run_dir, const std::string& lost_stage = "init");

}  // namespace warder::report
