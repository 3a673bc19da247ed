// The stage that brings a run's journal, blobs and report to its collectors.
//
// Configuration: {"run_dir": ABSOLUTE PATH, "run_id": …, "attempt": N,
//                 "sinks": [{"collector": URL, "token_fd": N, "ca_file": …}]}
// courier → init
//   {"acked": SEQ}                      all sinks have the journal up to here, on their disks
//   {"event": base::toMessage(event)}   delivery.down, delivery.up: once for each change
//   {"delivered": {receipt of the first sink, "collector": URL[, "also": [other receipts]]}}
//   {"gave_up": {"sentence": …}}
// init → courier
//   {"finishing": {"deadline_ms": N}}   report.json is complete; send all of it within this time
//
// After delivered or gave_up the process ends with code 0.
#pragma once

namespace warder::courier {

/// The stage. Returns the process's exit code.
int courierMain();

}  // namespace warder::courier
