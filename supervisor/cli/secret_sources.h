// Opens what a job names as the source of a secret or a token, unread.
#pragma once
#include "supervisor/base/fd.h"
#include "supervisor/cli/environment_secrets.h"
#include "supervisor/job/job_spec.h"

namespace warder::cli {

/// A variable's value must have been moved out of the environment. Errors: NotFound, Kernel, Config
/// for a descriptor that is not open.
base::Result<base::UniqueFd> openSource(const job::HandedSource& from, const MovedSecrets& moved);

/// A token is read again by each courier that is started, so it must be seekable. A variable is
/// also taken from the environment itself: a run that is refused has nobody to keep it from.
base::Result<base::UniqueFd> openToken(const job::HandedSource& from, const MovedSecrets& moved);

}  // namespace warder::cli
