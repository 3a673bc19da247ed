// What `warder run` and `warder init --job` have in common: before the box, and after it.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "supervisor/base/fault.h"
#include "supervisor/base/fd.h"
#include "supervisor/cli/command_run.h"
#include "supervisor/init/init_config.h"
#include "supervisor/init/orders.h"
#include "supervisor/job/job_reader.h"

namespace warder::cli {

struct RunRequest {
  std::string job_file;
  std::string spool;
  job::Overrides overrides;
  std::string engine = "run";  // see init::InitConfig
  Invocation invocation;
  bool print_json = false;
  bool passthrough_exit = false;
};

struct PreparedRun {
  RunRequest request;
  init::Orders orders;
  base::UniqueFd results;
  init::InitConfig config;  // but for the descriptors
  std::vector<base::UniqueFd> secrets, tokens;
};

struct RunEnd {
  int exit_code = 0;
  std::string report_file;  // empty when there is none
  bool started = true;      // false: refused before anything started (refused_run.h)
};

/// Reads and checks everything that can be known before a box, moves secrets out of the environment
/// (this executes the binary again), opens their sources and makes the run's folder. Where
/// something is wrong, nothing was started: that is told, reported, and returned.
std::variant<PreparedRun, RunEnd> prepareRun(RunRequest request);

/// A run whose folder is there, and of which nothing could be started: the folder goes, and the run
/// is refused.
RunEnd refuseStarted(const PreparedRun& run, const base::Error& why);

/// Tidies up, closes the journal if nobody did, leaves the results and says how the run ended and
/// where they are. `ended` is init's exit code, or why it has none: then the run is refused. The
/// exit code is that of it all: with passthrough_exit the agent's own (128+n for a signal) where an
/// agent ran.
RunEnd finishRun(const PreparedRun& run, const base::Result<int>& ended);

}  // namespace warder::cli
