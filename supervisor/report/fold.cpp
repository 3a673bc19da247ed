#include "supervisor/report/fold.h"

#include "supervisor/base/fd.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/report/report_json.h"
#include "supervisor/report/verdict.h"

namespace warder::report {

using base::Result;

void Fold::add(const base::Event& event) {
  seen_.add(event);
}

void Fold::endOfJournal() {
  if (!seen_.finished && !seen_.scribe_lost) seen_.init_lost = true;
}

Outcome Fold::outcome() const {
  return decide(seen_);
}

json::object Fold::outcomeJson() const {
  return toJson(outcome());
}

json::object Fold::report() const {
  return makeReport(seen_, outcome(), last_seq_);
}

namespace {

/// Feeds the fold line by line; `recorded` becomes the outcome that run.finished carries.
Result<Fold> replayInto(const std::string& run_dir, json::value& recorded) {
  journal::JournalTail tail(run_dir);
  Fold fold;
  for (;;) {
    auto lines = tail.more();
    if (!lines) return lines.error();
    if (lines->empty()) break;
    for (const auto& line : *lines) {
      auto event = journal::eventOf(line);
      if (!event) return event.error();
      if (event->type == "run.finished" && !fold.finished()) {
        fold.setLastSeq(line.seq);
        if (const auto* outcome = event->data.if_contains("outcome")) recorded = *outcome;
      }
      fold.add(*event);
    }
  }
  fold.endOfJournal();
  return fold;
}

/// The value as a reader of its printed form gets it, so that printing does not make a difference.
json::value reread(const json::value& value) {
  auto again = base::parseJson(json::serialize(value));
  return again ? std::move(*again) : json::value();
}

bool same(const json::value& a, const json::value& b) {
  return reread(a) == reread(b);
}

constexpr std::size_t kLargestReport = 4 << 20;

}  // namespace

Result<Fold> replay(const std::string& run_dir) {
  json::value recorded;
  return replayInto(run_dir, recorded);
}

Result<std::vector<std::string>> compareWithJournal(const std::string& run_dir) {
  json::value recorded;
  auto fold = replayInto(run_dir, recorded);
  if (!fold) return fold.error();
  std::vector<std::string> differences;
  if (!fold->finished()) return differences;
  if (!same(recorded, fold->outcomeJson()))
    differences.push_back("the outcome in run.finished is not the one that the journal gives");
  auto text = base::readFile(run_dir + "/" + journal::kReportFile, kLargestReport);
  if (!text) {
    differences.push_back("the report is missing: " + text.error().sentence());
    return differences;
  }
  auto stored = base::parseJson(*text);
  if (!stored || !stored->is_object()) {
    differences.push_back("report.json is no JSON object");
    return differences;
  }
  const json::object expected = reread(fold->report()).as_object();
  const json::object& found = stored->as_object();
  for (const auto& item : expected)
    if (!found.contains(item.key()) || found.at(item.key()) != item.value())
      differences.push_back("report.json does not say what the journal says: " +
                            std::string(item.key()) + " differs");
  for (const auto& item : found)
    if (!expected.contains(item.key()))
      differences.push_back("report.json holds " + std::string(item.key()) +
                            ", which the journal does not give");
  return differences;
}

}  // namespace warder::report
