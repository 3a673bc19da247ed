#include "supervisor/report/close_interrupted.h"

#include <unistd.h>

#include "supervisor/journal/output_digest.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/run_files.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/journal/writer.h"
#include "supervisor/report/fold.h"

namespace warder::report {

using base::Durability;
using base::Event;
using base::Status;

namespace {

Status append(journal::Writer& writer, Event event) {
  if (auto appended = writer.append(std::move(event)); !appended) return appended.error();
  return {};
}

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

Status writeReport(const std::string& run_dir) {
  auto fold = replay(run_dir);
  if (!fold) return fold.error();
  auto stored = journal::writeJsonFile(run_dir, journal::kReportFile, fold->report());
  if (!stored) return stored.error();
  return {};
}

base::Result<journal::Writer> reopen(const std::string& run_dir) {
  auto identity = journal::readIdentity(run_dir);
  if (!identity) return identity.error();
  journal::WriterOptions options;
  options.run_dir = run_dir;
  options.run_id = textOf(*identity, "run_id");
  options.attempt = numberOf(*identity, "attempt");
  if (options.run_id.empty() || options.attempt < 1)
    return base::Error{base::Kind::Config, run_dir + "/run.json names no run and attempt"};
  options.reserve_bytes = 0;  // an end has to fit on a disk that is full
  if (auto made = journal::makeRunFolders(run_dir); !made) return made.error();
  return journal::Writer::open(std::move(options));
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
  auto writer = reopen(run_dir);
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
    Event finished{"run.finished", {{"outcome", verdict->outcomeJson()}}, Durability::Outcome};
    if (auto told = append(*writer, std::move(finished)); !told) return told;
  }
  return writeReport(run_dir);
}

}  // namespace warder::report
