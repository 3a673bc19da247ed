#include "supervisor/cli/command_status.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "supervisor/base/log.h"
#include "supervisor/cli/run_finder.h"
#include "supervisor/cli/status_view.h"
#include "supervisor/journal/reader.h"
#include "supervisor/report/fold.h"

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Result;
namespace json = base::json;

namespace {

constexpr int kFailed = 1;
constexpr int kNoRun = 3;  // as `systemctl status` and every LSB script

struct Options {
  std::string run_dir;
  bool as_json = false;
};

int failed(const Error& error) {
  std::fprintf(stderr, "warder status: %s\n", base::escapeForTerminal(error.sentence()).c_str());
  return error.kind == Kind::NotFound || error.kind == Kind::Config ? kNoRun : kFailed;
}

/// What the journal of a run says that nobody conducts any more.
Result<init::RunStatus> statusOfTheDead(const std::string& run_dir) {
  auto identity = journal::readIdentity(run_dir);
  if (!identity) return identity.error().during("this is no folder of a run");
  auto lines = journal::readJournal(run_dir);
  if (!lines) return lines.error();
  init::RunStatus status;
  if (const auto* id = identity->if_contains("run_id"))
    if (id->is_string()) status.run_id = std::string(id->get_string());
  std::chrono::system_clock::time_point first{}, last{};
  for (const auto& line : *lines) {
    auto event = journal::eventOf(line);
    if (!event) return event.error();
    if (first == decltype(first){}) first = event->time;
    last = event->time;
    init::addEvent(status, *event);
  }
  using std::chrono::duration_cast, std::chrono::milliseconds;
  status.elapsed_ms = duration_cast<milliseconds>(last - first).count();
  status.phase = "done";
  if (status.outcome) return status;
  auto fold = report::replay(run_dir);
  if (!fold) return fold.error();
  const auto outcome = fold->outcome();
  status.outcome = {std::string(report::nameOf(outcome.cls)), outcome.reason, outcome.sentence};
  return status;
}

Result<init::RunStatus> statusOf(const LivingRun& run) {
  auto answer = ask(run, {{"status", true}});
  if (!answer) return answer.error();
  const auto* status = answer->if_contains("status");
  if (status == nullptr || !status->is_object())
    return Error{Kind::Peer, "the run's answer is no status", 0};
  return init::runStatusFromJson(status->get_object());
}

Result<init::RunStatus> look(const Options& options) {
  if (options.run_dir.empty()) {
    auto run = findLivingRun();
    if (!run) return run.error();
    return statusOf(*run);
  }
  auto run = connectTo(options.run_dir);
  if (run) return statusOf(*run);
  if (run.error().kind != Kind::NotFound) return run.error();
  return statusOfTheDead(options.run_dir);
}

int show(const Options& options) {
  auto status = look(options);
  if (!status) return failed(status.error());
  const std::string text =
      options.as_json ? json::serialize(init::toJson(*status)) + "\n" : statusText(*status);
  std::fputs(text.c_str(), stdout);
  return !status->outcome || status->outcome->cls == "ok" ? 0 : kFailed;
}

}  // namespace

void addStatusCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("status", "Says how the run in this box stands");
  command->add_option("RUN_DIR", options->run_dir,
                      "The run's folder in a spool; else the newest that goes on, in\n"
                      "$WARDER_SPOOL, the default spool, and /dev/shm/warder/spool");
  command->add_flag("--json", options->as_json, "Prints it as one JSON object");
  command->footer(
      "Exit codes: 0 the run goes on, or ended ok; 1 it ended otherwise, or does not answer;\n"
      "3 there is no run. In a Dockerfile:  HEALTHCHECK CMD [\"warder\", \"status\"]");
  command->callback([options, &exit_code] { exit_code = show(*options); });
}

}  // namespace warder::cli
