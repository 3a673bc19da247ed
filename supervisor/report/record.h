// The end of a run's record by a process that is not its scribe. Part of close_interrupted.h and
// refused_record.h.
#pragma once
#include <boost/json.hpp>
#include <string>

#include "supervisor/journal/writer.h"

namespace warder::report {

/// The journal of this run, locked for us alone. Errors: Denied while another writes it, Config
/// when run.json names no run, Kernel.
base::Result<journal::Writer> openRecord(const std::string& run_dir);

base::Status append(journal::Writer& writer, base::Event event);

/// run.finished with this outcome (Fold::outcomeJson), then report.json.
base::Status finishRecord(journal::Writer& writer, const std::string& run_dir,
                          boost::json::object outcome);

/// report.json as the journal on disk gives it. Errors: Kernel, Config.
base::Status writeReport(const std::string& run_dir);

}  // namespace warder::report
