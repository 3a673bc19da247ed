// What a run is told to do: the job, its policy, and what both mean on this machine. `warder
// check`, `warder run` and init read the same way, so that what was checked is what runs.
#pragma once
#include <string>

#include "policies/policy.h"
#include "secrets/grant_plan.h"
#include "supervisor/base/event.h"
#include "supervisor/base/fault.h"
#include "supervisor/init/init_config.h"
#include "supervisor/job/job_reader.h"

namespace warder::init {

struct Orders {
  job::JobSpec job;
  policies::Policy policy;
  std::string executable;  // of the agent, in the box
  base::Faults faults;     // when there are any, nothing may start
  base::Faults warnings;
  // Where there are faults, for the report of that. Unless results_do_not_hold is empty,
  // job.results names what the command line says, or the place beside the job, and no collector.
  std::string results_do_not_hold;
  std::string why_no_delivery;  // why the collectors of job.results cannot be told
};

/// Only the process that a person called still has the descriptors and variables it was given.
enum class Reader { Called, Later };

/// Reads job, preset and policy and asks the machine about every path in them. All faults at once.
Orders readOrders(const std::string& job_file, const job::Overrides& overrides, Reader reader);

/// init's own reading. Errors: Config when the job is not the one that was checked, or has faults.
base::Result<Orders> readOrdersAgain(const InitConfig& config);

/// How the broker is asked to lend this secret.
secrets::GrantRequest grantRequestOf(const job::SecretSpec& secret);

/// The data of run.started.
base::json::object describeStart(const InitConfig& config, const Orders& orders);

/// The words as an event repeats them: each at most 4 KiB, together at most kMaxRepeatedBytes; what
/// is cut ends in "…", what is left out is counted in a last word. Pure.
base::json::array repeatWords(const std::vector<std::string>& words);

/// What decides which walls stand.
struct Place {
  bool in_place = false;    // no root of the agent's own
  bool one_id = false;      // no other user id can be used
  bool own_network = true;  // the agent has a network of its own
  int landlock_abi = 0;
};
Place placeOf(const InitConfig& config);

/// What stands between agent and supervisor elsewhere but not in this box; one sentence each. Pure.
std::vector<std::string> missingWalls(const Place& place);

}  // namespace warder::init
