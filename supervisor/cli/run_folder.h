// The folder of one run in the spool, and what goes away when the run is over.
#pragma once
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/job/job_spec.h"

namespace warder::cli {

/// A UUID of version 7: sorts by time. Source: RFC 9562 section 5.7.
std::string newRunId();

/// Where spools go unless told otherwise: $WARDER_SPOOL; without it /var/lib/warder/spool for root,
/// else $XDG_STATE_HOME/warder/spool or ~/.local/state/warder/spool.
std::string defaultSpool();

/// Errors: Config when the agent could put its own files in the spool's place: a spool in the
/// workspace, or in place below a folder that the agent's user can write.
base::Status checkSpool(const std::string& spool, const job::JobSpec& job);

/// Makes SPOOL/RUN_ID with run.json, delivery.json (the sinks, never their tokens) and the folders
/// that init mounts on. As root it belongs to the scribe's own user.
/// Errors name the folder.
/// In place the agent's user may pass through it (not look): the harvest, which has that user,
/// works in a folder below.
base::Result<std::string> makeRunFolder(const std::string& spool, const std::string& run_id,
                                        const job::JobSpec& job);

/// Removes what only the living box needed: mount points and the harvest's working folder.
void tidyRunFolder(const std::string& run_dir);

}  // namespace warder::cli
