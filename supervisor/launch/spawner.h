// Starts a stage: this same binary, re-executed with a configuration and a control socket. No code
// of ours runs between fork and exec.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/base/wire.h"

namespace warder::launch {

struct StageStart {
  std::string stage;  // "broker"
  base::json::object config;
  std::vector<int> extra_fds;  // become base::kFirstExtraFd, +1, …; borrowed
  uid_t uid = 0;               // not 0: the stage becomes this service id first
  gid_t gid = 0;
  bool service = true;            // drop every capability before the stage's own main
  bool keep_signal_mask = false;  // what we block stays blocked: for init, which loses no signal
};

struct StartedStage {
  std::string stage;
  pid_t pid = -1;
  base::UniqueFd control;
};

/// Starts the stage with an empty environment, standard input /dev/null, standard output and error
/// on our standard error, all signals at their defaults and, unless kept, unblocked.
/// Errors: Kernel. Source: posix_spawn(3) (vfork semantics since glibc 2.24).
base::Result<StartedStage> startStage(const StageStart& start);

/// Waits for the stage's first word. Errors: what the stage said failed; Timeout; Peer when it died
/// without a word.
base::Result<base::Message> awaitReady(const StartedStage& stage, std::chrono::milliseconds limit);

/// What a stage meant by {"failed": …} (base::sayFailed), as an Error: "STEP: sentence".
base::Error saidFailure(const base::json::object& message);

/// One message from a control socket within `limit`; Errors: Timeout, Peer when it was closed.
base::Result<base::Message> awaitMessage(int control, std::chrono::milliseconds limit);

}  // namespace warder::launch
