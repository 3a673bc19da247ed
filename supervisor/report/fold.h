// The report is a fold over the journal: init feeds it live, a replay feeds it from disk, and both
// get the same.
#pragma once
#include <string>

#include "supervisor/base/event.h"
#include "supervisor/base/result.h"
#include "supervisor/report/outcome.h"
#include "supervisor/report/witnesses.h"

namespace warder::report {

/// Pure. Feed it every event that init records and every event that the scribe says it authored,
/// in the order in which they are sent or heard; after run.finished it listens no more.
class Fold {
 public:
  void add(const base::Event& event);
  /// The seq under which run.finished was stored; part of the report.
  void setLastSeq(std::uint64_t seq) { last_seq_ = seq; }
  /// A replayed journal ended: without run.finished the supervisor was lost, unless a line says
  /// that it was the scribe.
  void endOfJournal();

  /// The verdict by what is known now.
  Outcome outcome() const;
  /// The same as run.finished and the report carry it.
  json::object outcomeJson() const;
  json::object report() const;

  /// run.finished has been added.
  bool finished() const { return seen_.finished; }
  const Witnesses& witnesses() const { return seen_; }

 private:
  Witnesses seen_;
  std::uint64_t last_seq_ = 0;
};

/// The fold of a run's journal on disk. Errors: Kernel, Config when a line is no event.
base::Result<Fold> replay(const std::string& run_dir);

/// One sentence for each way in which report.json, or the outcome in run.finished, is not what the
/// journal says; empty when they agree. Errors: Kernel.
base::Result<std::vector<std::string>> compareWithJournal(const std::string& run_dir);

}  // namespace warder::report
