// What init and the scribe say to each other (base/wire messages on the scribe's control socket),
// and where things lie in a spool.
//
// Configuration: {"run_dir": ABSOLUTE PATH, "run_id": …, "attempt": N}
//
// init → scribe
//   {"event": base::toMessage(event), "token": N}        append; token is optional
//   {"output": "stdout"|"stderr"} + 1 fd                 drain this pipe to its end
//   {"close_output": true}                               take what the output pipes hold now and
//                                                        close them, whoever still holds the ends;
//                                                        answered by outputs_closed
//   {"harvest": true, "max_size": BYTES} + 1 fd          read this harvest stream to its end
//   {"report": {…}}                                      write report.json (fsync, rename)
//   {"receipt": {…}}                                     write receipt.json
//   {"finish": true}                                     close what is open, sync everything
// scribe → init
//   {"stored": N, "seq": S}                              the event with token N is on disk
//   {"authored": base::toMessage(event)}                 the scribe appended an event of its own
//                                                        (output.closed, artifact.*, patch.*)
//   {"outputs_closed": true}                             every output.closed has been authored
//   {"harvested": true}                                  the harvest stream ended
//   {"report_stored": "sha256:…"}  {"receipt_stored": true}  {"finished": {"seq": S, "head": HEX}}
//   {"trouble": {"sentence": …, "errno": …, "token": N}} the spool cannot be written; token when an
//                                                        event with one was not stored. Events that
//                                                        the disk does not take are held, with all
//                                                        that follow, and stored when it does
//
// SPOOL/RUN_ID/
//   run.json                 identity: {"run_id","attempt","created","job","warder"}; written first
//   journal/00000001.wal     frames (frame.h)
//   output/stdout, output/stderr
//   blobs/HEX                artifacts and the patch, named by SHA-256
//   report.json  receipt.json
#pragma once
#include <string>

namespace warder::journal {

inline constexpr const char* kJournalFolder = "journal";
inline constexpr const char* kOutputFolder = "output";
inline constexpr const char* kBlobFolder = "blobs";
inline constexpr const char* kReportFile = "report.json";
inline constexpr const char* kReceiptFile = "receipt.json";
inline constexpr const char* kIdentityFile = "run.json";
inline constexpr const char* kDeliveryFile = "delivery.json";  // the sinks, never their tokens

/// The stage. Returns the process's exit code.
int scribeMain();

}  // namespace warder::journal
