#include "supervisor/cli/refused_run.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <optional>

#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/refused_delivery.h"
#include "supervisor/cli/results_target.h"
#include "supervisor/cli/run_folder.h"
#include "supervisor/cli/secret_sources.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/launch/confine.h"
#include "supervisor/report/fold.h"
#include "supervisor/report/results_folder.h"

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Status;
using base::UniqueFd;
namespace fs = std::filesystem;
namespace json = base::json;

namespace {

constexpr int kUndelivered = 64;  // added to the exit code (docs/outcome.md)
constexpr std::size_t kMaxReport = 4 << 20;

void remove(const std::string& path) {
  std::error_code ignored;  // what stays is an empty run, which every reader can close
  fs::remove_all(path, ignored);
}

/// What becomes of the record of a refused run: made in the spool, copied to the results, brought
/// to the collectors, and taken from the spool where it is of no more use there.
class Record {
 public:
  explicit Record(const RefusedRun& run)
      : run_(run), job_(run.orders.job), run_id_(newRunId()), undelivered_(job_.results.to.size()) {
    openResults();
    make();
    if (recorded_) leaveResults();
  }

  void deliver() {
    if (job_.results.to.empty()) return;
    delivered_ = tryDelivery();
    if (delivered_) undelivered_ = 0;
  }

  void tidy() {
    if (!recorded_ || !left_ || undelivered_ > 0) return;
    remove(run_dir_);
    if (!beside_.empty()) remove(beside_);
    run_dir_.clear();
  }

  /// Of the copy in the results, or of the one in the spool; empty when there is none.
  std::string reportFile() const {
    if (left_) return place() + "/report.json";
    return recorded_ ? run_dir_ + "/" + journal::kReportFile : "";
  }

  int exitCode() const { return kBadInput + (undelivered_ > 0 ? kUndelivered : 0); }

  void tell(std::ostream& out) const {
    out << sentence() << "\n";
    if (left_)
      out << "results: " << place() << "\n";
    else if (recorded_)
      out << "the report could not be left in the results (" << left_.error().sentence()
          << "); the spool has it: " << shownRunDir() << "\n";
    else
      out << "no report could be left: " << recorded_.error().sentence() << "\n";
    for (const auto& sink : job_.results.to) {
      if (delivered_)
        out << "page: " << sink.url << "/runs/" << run_id_ << "\n";
      else
        out << "not delivered to " << sink.url << " (" << delivered_.error().sentence() << ")"
            << (recorded_ ? "; later: warder deliver " + shownRunDir() : "") << "\n";
    }
    out.flush();
  }

  json::object toJson() const {
    json::array faults;
    for (const auto& fault : run_.refusal.faults)
      faults.push_back({{"where", fault.where}, {"sentence", fault.sentence}});
    json::object answer = {{"started", false},
                           {"exit_code", exitCode()},
                           {"faults", std::move(faults)},
                           {"results", nullptr},
                           {"report", nullptr}};
    if (left_) answer["results"] = place();
    auto text = base::readFile(reportFile(), kMaxReport);
    if (auto report = text ? base::parseJson(*text) : base::Result<json::value>(text.error()))
      answer["report"] = std::move(*report);
    return answer;
  }

 private:
  void openResults() {
    const std::string& folder = job_.results.directory;
    if (folder.empty()) {
      why_no_results_ = Error{Kind::NotFound, "no results folder is known"};
      return;
    }
    // Where the job's own word does not hold, nor does its workspace: an agent could have put a
    // link beside the job.
    const bool holds = run_.orders.results_do_not_hold.empty();
    const std::string shared =
        holds ? job_.agent.workspace : fs::path(job_.file).parent_path().string();
    auto opened = openResultsFolder(folder, shared);
    if (opened)
      results_ = std::move(*opened);
    else
      why_no_results_ = opened.error();
  }

  /// In the spool; where that cannot be, in a folder of the results under a name that nobody could
  /// know before.
  void make() {
    const std::string& spool = run_.request.spool;
    recorded_ = checkSpool(spool, job_);
    if (recorded_) recorded_ = makeIn(spool);
    if (recorded_ || !results_) return;
    beside_ = resultsPath() + "/." + run_id_;
    recorded_ = makeIn(beside_);
    if (!recorded_) remove(beside_);
  }

  Status makeIn(const std::string& spool) {
    auto folder = makeRunFolder(spool, run_id_, job_);
    run_dir_ = folder ? *folder : spool + "/" + run_id_;
    Status made = folder ? Status() : Status(folder.error());
    if (folder) tidyRunFolder(run_dir_);
    if (folder) made = report::recordRefusal(run_dir_, describeStart(), run_.refusal);
    if (!made) remove(run_dir_);
    return made;
  }

  json::object describeStart() const {
    init::InitConfig config;
    config.run_id = run_id_;
    config.engine = run_.request.engine;
    config.job_file = job_.file;
    config.job_digest = job_.digest;
    config.one_id = !launch::mayChangeIds();
    return init::describeStart(config, run_.orders);
  }

  void leaveResults() {
    left_ = results_ ? report::exportResults(run_dir_, resultsPath()) : Status(why_no_results_);
  }

  /// Without a /proc, which a job in place needs and may be refused for, only by its name.
  std::string resultsPath() const {
    const std::string held = pathOf(results_);
    return ::access(held.c_str(), X_OK) == 0 ? held : job_.results.directory;
  }

  Status tryDelivery() {
    if (!recorded_) return recorded_;
    if (!run_.orders.why_no_delivery.empty())
      return Error{Kind::Config, run_.orders.why_no_delivery};
    std::vector<UniqueFd> opened;
    RefusedDelivery order{run_dir_, run_id_, job_.results, {}};
    if (run_.tokens == nullptr) {
      for (const auto& sink : job_.results.to) {
        auto token = openToken(sink.token, run_.moved);
        if (!token) return token.error().during("the token of " + sink.url);
        opened.push_back(std::move(*token));
      }
    }
    for (const auto& token : run_.tokens == nullptr ? opened : *run_.tokens)
      order.tokens.push_back(token.get());
    return deliverRefused(order);
  }

  std::string place() const { return job_.results.directory + "/" + run_id_; }

  std::string shownRunDir() const {
    return beside_.empty() ? run_dir_ : job_.results.directory + "/." + run_id_ + "/" + run_id_;
  }

  /// Its reasons have been told, each with its place; the report has them all.
  std::string sentence() const {
    report::Fold fold;
    fold.add({"setup.failed", report::describeRefusal(run_.refusal)});
    const auto outcome = fold.outcome();
    return std::string(report::nameOf(outcome.cls)) + " (" + outcome.reason +
           "): the run was not started\nnext: " + outcome.advice;
  }

  const RefusedRun& run_;
  const job::JobSpec& job_;
  const std::string run_id_;
  std::size_t undelivered_;  // collectors
  UniqueFd results_;
  Error why_no_results_;
  std::string beside_;  // the record's folder in the results, where the spool cannot have it
  std::string run_dir_;
  Status recorded_;
  Status left_ = Error{Kind::NotFound, "there is no report"};
  Status delivered_;
};

}  // namespace

RunEnd refuseRun(const RefusedRun& run) {
  for (const auto& fault : run.refusal.faults)
    std::cerr << base::escapeForTerminal(base::render(fault)) << "\n";
  std::cerr << "warder: nothing was started" << std::endl;
  const auto& why = run.orders.results_do_not_hold;
  if (!why.empty() && !run.orders.job.digest.empty())
    std::cerr << "warder: the job's word on results is not taken for this report: "
              << base::escapeForTerminal(why) << std::endl;
  Record record(run);
  record.deliver();
  if (run.request.print_json) std::cout << json::serialize(record.toJson()) << std::endl;
  record.tell(run.request.print_json ? std::cerr : std::cout);
  record.tidy();
  return {record.exitCode(), record.reportFile(), false};
}

RunEnd recordRefusedRun(const RefusedRun& run) {
  const Record record(run);
  return {record.exitCode(), record.reportFile(), false};
}

}  // namespace warder::cli
