// The difference between the workspace before and after the agent, made with a git directory of
// our own: the repository's hooks, filters and configuration have no say in it.
#pragma once
#include <string>

#include "supervisor/report/child_process.h"
#include "supervisor/report/harvest_sender.h"

namespace warder::report {

struct PatchOrder {
  std::string workspace;    // absolute
  std::string private_dir;  // ours alone; holds the git directory between the two calls
  Deadline deadline;
};

/// Before the agent starts: remembers the work tree. What .gitignore excludes is no part of it.
/// Left out, and told with the patch, are files larger than kLargestInPatch, repositories inside
/// the workspace, what cannot be read, and what is no file, link or folder. When it cannot be done,
/// the reason is remembered for sendPatch instead. Errors: Kernel when private_dir cannot be
/// written.
base::Status rememberWorkTree(const PatchOrder& order);

/// After the agent ended: sends the patch, or says why there is none. Errors: Kernel when the
/// stream is gone.
base::Status sendPatch(const PatchOrder& order, HarvestSender& sender);

}  // namespace warder::report
