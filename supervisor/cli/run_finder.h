// Finds the run of this box by its folder in a spool.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace warder::cli {

/// Where runs may lie: $WARDER_SPOOL alone if set; else the default spool, and the one of a
/// container that may write nowhere else.
std::vector<std::string> spoolsHere();

inline constexpr const char* kSpoolInMemory = "/dev/shm/warder/spool";

/// Folders of runs in these spools, the newest first. Folders that are no runs are left out.
std::vector<std::string> runsIn(const std::vector<std::string>& spools);

/// A run that is alive, and a connection to its control door.
struct LivingRun {
  std::string run_dir;
  base::UniqueFd door;
};

/// The newest run here that listens. Errors: NotFound with where it was looked for.
base::Result<LivingRun> findLivingRun();

/// The same for one run's folder. Errors: NotFound when nobody listens there; Kernel when this user
/// may not ask.
base::Result<LivingRun> connectTo(const std::string& run_dir);

/// The answer, or its refusal as the error it is. Errors: Denied with the run's own sentence;
/// Peer for a refusal that says nothing. Pure.
base::Result<base::json::object> unlessRefused(base::json::object answer);

/// One question and its answer. Errors: Timeout after five seconds; Denied when the run cut the
/// connection, as it does for everybody but root and its owner, or refused.
base::Result<base::json::object> ask(const LivingRun& run, const base::json::object& question);

}  // namespace warder::cli
