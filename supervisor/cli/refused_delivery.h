// Brings the record of a refused run to its collectors.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/job/job_spec.h"

namespace warder::cli {

struct RefusedDelivery {
  std::string run_dir;
  std::string run_id;
  const job::ResultsSpec& results;
  std::vector<int> tokens;  // in the order of results.to
};

/// Starts a courier and waits for it, at most results.deliver_within; SIGTERM, SIGINT, SIGQUIT and
/// SIGHUP end the wait. Keeps the receipt in run_dir. Blocks all signals of this process. Errors:
/// why it is not acknowledged.
base::Status deliverRefused(const RefusedDelivery& order);

}  // namespace warder::cli
