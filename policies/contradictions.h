// Rules that cannot both be meant.
#pragma once
#include "policies/policy.h"
#include "supervisor/base/fault.h"

namespace warder::policies {

/// Allow rules for the same host and port that say different things about TLS or the protocol, and
/// deny rules with methods or paths for what an allow rule lets through unread. Only rules with
/// the same host, as written, are compared: a pattern and a name below it may well differ.
base::Faults contradictions(const Policy& policy);

}  // namespace warder::policies
