// How a courier is started: by init for a run, and by whoever reports a run that was refused.
#pragma once
#include <string>
#include <vector>

#include "supervisor/job/job_spec.h"
#include "supervisor/launch/spawner.h"

namespace warder::init {

struct CourierStart {
  int run_folder;  // descriptor of SPOOL/RUN_ID
  const std::string& run_id;
  int attempt;
  const std::vector<job::CollectorSpec>& sinks;
  const std::vector<int>& token_fds;  // in the order of sinks; read from their beginning
  bool one_id;                        // no other user id can be used
};

/// Starts the stage; what it says is in courier/courier.h. Errors: Kernel, NotFound for a CA file.
base::Result<launch::StartedStage> startCourierStage(const CourierStart& order);

}  // namespace warder::init
