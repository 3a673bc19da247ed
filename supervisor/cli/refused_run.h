// A run that is refused before anything of it starts: it is told, and leaves a report as other runs
// do.
#pragma once
#include <vector>

#include "supervisor/cli/prepared_run.h"
#include "supervisor/report/refused_record.h"

namespace warder::cli {

struct RefusedRun {
  const RunRequest& request;
  const init::Orders& orders;  // as far as the job could be read
  report::Refusal refusal;
  MovedSecrets moved = {};
  const std::vector<base::UniqueFd>* tokens = nullptr;  // of job.results.to, where they are open
};

/// Tells the faults on standard error, writes journal and report, leaves the report in the results
/// folder, brings it to the collectors, and says on standard output (with --json: in one object)
/// where it is. The spool keeps the run only where its report could not be left or was not
/// acknowledged. Exit code: 14, and 64 more when it was not acknowledged.
RunEnd refuseRun(const RefusedRun& run);

/// The same without a word: only report_file of the answer means something.
RunEnd recordRefusedRun(const RefusedRun& run);

}  // namespace warder::cli
