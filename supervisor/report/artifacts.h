// Finds and sends the files that results.artifacts names. Runs with the agent's uid on folders
// that the agent made: no link is followed, nothing but regular files is opened for reading.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/report/child_process.h"
#include "supervisor/report/harvest_sender.h"

namespace warder::report {

struct ArtifactOrder {
  std::string workspace;  // absolute
  std::vector<std::string> globs;
  std::uint64_t max_size = 0;  // bytes of all files together
  Deadline deadline;
};

/// Sends the matching files, smallest first, as long as they fit; says for every other one, and
/// for every pattern that matches nothing, why it is not there. Errors: Kernel when the stream or
/// the workspace is gone.
base::Status sendArtifacts(const ArtifactOrder& order, HarvestSender& sender);

}  // namespace warder::report
