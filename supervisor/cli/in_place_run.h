// `warder init --job`: conducts a job in this very process, as PID 1 of a container or a machine
// that somebody else made, or as a subreaper in one.
#pragma once
#include <chrono>
#include <string>

#include "supervisor/cli/prepared_run.h"

namespace warder::cli {

struct InPlaceRun {
  RunRequest request;  // its engine is "container" or "microvm"
  bool quiet = false;
  std::chrono::milliseconds stop_within{0};  // see init::InitConfig
  std::string cgroups;                       // likewise
  std::vector<std::string> boot_warnings;    // likewise
};

/// Runs the job to its end. Signals must be blocked already (watch::blockAll).
RunEnd runInPlace(InPlaceRun run);

}  // namespace warder::cli
