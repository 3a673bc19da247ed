// Asks of each secret file, before anything starts, what the broker would say of it.
#pragma once
#include "supervisor/base/fault.h"
#include "supervisor/job/job_spec.h"

namespace warder::cli {

/// One fault for each secret from a file that the broker would refuse. The content is read by a
/// stage of its own (secret-check), into locked memory, never by this process.
base::Faults checkSecretFiles(const job::JobSpec& job);

}  // namespace warder::cli
