// Finds the agent's program where the box will show it.
#pragma once
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/job/job_spec.h"

namespace warder::job {

/// The folders that a name without a slash is looked up in, in order.
inline constexpr const char* kProgramFolders[] = {"/usr/local/bin", "/usr/bin", "/bin"};

/// Absolute path, in the box, of the first of `agent.executables` that is there: in
/// kProgramFolders, then in the job's read_only folders and their node_modules/.bin; with a slash
/// at its own place (relative ones below the workspace). The file, and every link on the way to it,
/// must be visible in the box (the machine's programs, read_only paths, the workspace), be
/// executable for the agent, and be an ELF program of this machine or a script whose interpreter is
/// visible too. Errors: NotFound and Config, with what to do.
base::Result<std::string> resolveExecutable(const JobSpec& job);

/// Is this path of the machine shown in the box, at whatever place?
bool isVisible(const JobSpec& job, const std::string& path);

}  // namespace warder::job
