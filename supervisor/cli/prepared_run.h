// What `warder run` and `warder init --job` have in common: before the box, and after it.
#pragma once
#include <optional>
#include <string>
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

/// Reads and checks everything that can be known before a box, moves secrets out of the environment
/// (this executes the binary again), opens their sources and makes the run's folder. What is wrong
/// is on standard error when it returns nothing; then nothing was started, and the exit code is 14.
std::optional<PreparedRun> prepareRun(RunRequest request);

/// Tidies up, closes the journal if nobody did, leaves the results and says how the run ended and
/// where they are. `ended` is init's exit code, or why it has none. Returns the exit code of it
/// all: with passthrough_exit the agent's own (128+n for a signal) where an agent ran.
int finishRun(const PreparedRun& run, const base::Result<int>& ended);

/// Says what is wrong and that nothing was started, with `as_json` also as one JSON object on
/// standard output; returns 14.
int refuse(const base::Faults& faults, bool as_json = false);
int refuse(const base::Error& error, bool as_json = false);

}  // namespace warder::cli
