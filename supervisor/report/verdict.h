// Decides how a run ended from what its witnesses saw. Pure.
#pragma once
#include "supervisor/report/outcome.h"
#include "supervisor/report/witnesses.h"

namespace warder::report {

/// First cause wins: a lost supervisor; what Warder did (setup, limit, stop); what the kernel did;
/// what the agent, its last words and its last call say. Exit codes alone are not believed: agents
/// exit with 0 after API failures, and 137 without a kernel count is not an OOM kill.
Outcome decide(const Witnesses& seen);

}  // namespace warder::report
