// From a job to the plan of the agent's process. Pure.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "supervisor/job/job_spec.h"
#include "supervisor/launch/exec_plan.h"
#include "supervisor/launch/trust_environment.h"

namespace warder::launch {

/// A way to one upstream, as the agent knows it.
struct Door {
  std::string secret;       // the job's name for it
  std::string url;          // "http://127.0.0.1:7411"
  std::string placeholder;  // what the agent holds instead of the key
  std::string socket{};     // path of the Unix socket that is the same door; empty: none
};

struct BoxFacts {
  std::string run_id;
  std::string root;                              // see BoxRoot::mount_point; empty: in place
  bool one_id = false;                           // only the caller's own uid can be used
  std::string workspace = job::kWorkspaceInBox;  // as the agent sees it
  std::string home = job::kHomeInBox;            // likewise
  std::map<std::string, std::string> inherited;  // in place: the container's environment, sifted
  std::string executable;                        // absolute path of argv[0] in the box
  std::vector<Door> doors;
  TrustEnvironment trust;  // certificates and proxy
};

/// argv, environment and identity of the agent. Every secret NAME is told as NAME_BASE_URL,
/// NAME_API_KEY and NAME_SOCKET in upper case, and under the preset's own variable names; the job's
/// `env` comes after them, and `trust`, which knows it, last. Descriptors are left for the caller.
ExecPlan planAgent(const job::JobSpec& job, const BoxFacts& facts);

/// The harvest stage: the agent's identity and root, no environment, a folder of its own.
ExecPlan planHarvest(const job::JobSpec& job, const BoxFacts& facts,
                     const std::string& private_folder);

}  // namespace warder::launch
