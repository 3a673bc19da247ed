// The effective plan of a job, for people and for programs. Pure rendering.
#pragma once
#include <string>
#include <vector>

#include "secrets/broker_config.h"
#include "supervisor/init/orders.h"

namespace warder::cli {

struct Plan {
  const init::Orders& orders;
  std::vector<secrets::Grant> grants;  // in the order of the job's secrets; placeholders unused
  bool one_id = false;                 // the box has only the caller's own uid
};

/// Lines of "name  value", sizes, durations and modes as they are in effect. What comes from files
/// is escaped for a terminal. No secret is in it, only where each comes from.
std::string planText(const Plan& plan);

/// The same as JSON; sizes in bytes, durations in milliseconds, modes as octal text.
base::json::object planJson(const Plan& plan);

}  // namespace warder::cli
