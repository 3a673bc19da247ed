#include "supervisor/report/close_interrupted.h"

#include <unistd.h>

#include "supervisor/journal/output_digest.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/report/fold.h"
#include "supervisor/report/record.h"

namespace warder::report {

using base::Durability;
using base::Event;
using base::Status;

namespace {

Status closeOutputs(journal::Writer& writer, const std::string& run_dir, const Fold& fold) {
  for (const char* stream : {"stdout", "stderr"}) {
    if (fold.witnesses().streams.contains(stream)) continue;
    auto data =
        journal::digestOfOutput(run_dir + "/" + journal::kOutputFolder + "/" + stream, stream);
    if (!data && data.error().kind == base::Kind::NotFound) continue;  // the agent never started
    if (!data) return data.error();
    if (auto told = append(writer, {"output.closed", std::move(*data)}); !told) return told;
  }
  return {};
}

}  // namespace

Status closeInterrupted(const std::string& run_dir, const std::string& lost_stage) {
  if (lost_stage != "init" && lost_stage != "scribe")
    return base::Error{base::Kind::Internal, "a run goes on without its " + lost_stage};
  auto before = replay(run_dir);
  if (!before) return before.error();
  if (before->finished()) {
    const bool reported = ::access((run_dir + "/" + journal::kReportFile).c_str(), F_OK) == 0;
    return reported ? Status() : writeReport(run_dir);
  }
  auto writer = openRecord(run_dir);
  if (!writer) return writer.error();
  // Read again: the last writer may have ended between the first look and the lock.
  auto fold = replay(run_dir);
  if (!fold) return fold.error();
  if (!fold->finished()) {
    if (auto closed = closeOutputs(*writer, run_dir, *fold); !closed) return closed;
    Event lost{"stage.lost", {{"stage", lost_stage}, {"restarted", false}}, Durability::Outcome};
    if (auto told = append(*writer, std::move(lost)); !told) return told;
    auto verdict = replay(run_dir);
    if (!verdict) return verdict.error();
    return finishRecord(*writer, run_dir, verdict->outcomeJson());
  }
  return writeReport(run_dir);
}

}  // namespace warder::report
