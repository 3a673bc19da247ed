#include "supervisor/report/record.h"

#include "supervisor/journal/reader.h"
#include "supervisor/journal/run_files.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/report/fold.h"

namespace warder::report {

base::Result<journal::Writer> openRecord(const std::string& run_dir) {
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

base::Status append(journal::Writer& writer, base::Event event) {
  if (auto appended = writer.append(std::move(event)); !appended) return appended.error();
  return {};
}

base::Status finishRecord(journal::Writer& writer, const std::string& run_dir,
                          boost::json::object outcome) {
  base::Event finished{
      "run.finished", {{"outcome", std::move(outcome)}}, base::Durability::Outcome};
  if (auto told = append(writer, std::move(finished)); !told) return told;
  return writeReport(run_dir);
}

base::Status writeReport(const std::string& run_dir) {
  auto fold = replay(run_dir);
  if (!fold) return fold.error();
  auto stored = journal::writeJsonFile(run_dir, journal::kReportFile, fold->report());
  if (!stored) return stored.error();
  return {};
}

}  // namespace warder::report
