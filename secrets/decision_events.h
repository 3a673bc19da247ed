// What is told of decisions.
#pragma once
#include <string>

#include "secrets/decision.h"
#include "secrets/shared.h"

namespace warder::secrets {

/// broker.denied, and broker.incident beside it where a placeholder was on its way elsewhere;
/// broker.foreign_credential for a request that goes on without it.
void emitVerdict(Shared& shared, const Asked& asked, const Verdict& verdict);
/// broker.denied for a request that was admitted and then refused by what its body holds, or by a
/// budget.
void emitDenied(Shared& shared, const Asked& asked, const Verdict& verdict, const Refusal& refusal);
/// broker.budget_mark for each mark of the lease's budget that was crossed since the last time.
void emitMarks(Shared& shared, const Lease& lease);

}  // namespace warder::secrets
