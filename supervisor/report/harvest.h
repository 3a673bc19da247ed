// The harvest stage: reads what the agent left, with the agent's uid and inside the agent's box,
// and streams it to the scribe (journal/harvest_stream.h).
//
// Configuration: {"mode": "baseline"|"collect", "workspace": ABSOLUTE PATH, "private_dir": …,
//   "artifacts": [GLOB …], "patch": BOOL, "max_size": BYTES, "deadline_ms": N, "stream_fd": N}
#pragma once

namespace warder::report {

/// The stage. Returns the process's exit code: 0 also when there was nothing, or a reason for it
/// was sent; 1 when the stage itself failed.
int harvestMain();

}  // namespace warder::report
