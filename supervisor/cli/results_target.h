// The folder that a run's results go to, opened before the agent can touch it.
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/job/job_spec.h"

namespace warder::cli {

/// Makes results.dir if need be, opens it and sees that it can be written. Held from before the
/// agent starts, so that nothing the agent does to a path leads the results elsewhere; below the
/// workspace no part of the path may be a link, because an earlier agent may have put it there.
/// Errors: Kernel and Config, naming the folder.
base::Result<base::UniqueFd> openResultsFolder(const job::JobSpec& job);

/// The same for any folder. Below `shared`, which may be empty, no part of the path may be a link,
/// because an agent could have put it there.
base::Result<base::UniqueFd> openResultsFolder(const std::string& directory,
                                               const std::string& shared);

/// The same folder as a path for exportResults.
std::string pathOf(const base::UniqueFd& folder);

}  // namespace warder::cli
