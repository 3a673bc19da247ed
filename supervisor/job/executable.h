// Finds the agent's program where the box will show it.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/job/job_spec.h"

namespace warder::job {

/// Absolute path, in the box, of the first of `agent.executables` that is there: in the folders of
/// searchFolders, then in the job's read_only folders and their node_modules/.bin; with a slash at
/// its own place (relative ones below the workspace). The file, and every link on the way to it,
/// must be visible in the box (box_view.h), be executable for the agent, and be an ELF program of
/// this machine whose loader is there, or a script whose interpreter is such a program.
/// Errors, each naming the file and what it misses: NotFound where a shell says 127 (program,
/// interpreter or loader missing), Config where it says 126.
base::Result<std::string> resolveExecutable(const JobSpec& job);

/// Where a name without a slash is looked up, in order: the job's own PATH if `agent.env` has one,
/// else `agent.path`.
std::vector<std::string> searchFolders(const JobSpec& job);

}  // namespace warder::job
