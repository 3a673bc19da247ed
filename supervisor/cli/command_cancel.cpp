#include "supervisor/cli/command_cancel.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "supervisor/base/log.h"
#include "supervisor/cli/run_finder.h"

namespace warder::cli {

using base::Error;
using base::Kind;
namespace json = base::json;

namespace {

constexpr int kFailed = 1;
constexpr int kNoRun = 3;

struct Options {
  std::string run_dir;
  bool as_json = false;
};

int failed(const Error& error) {
  std::fprintf(stderr, "warder cancel: %s\n", base::escapeForTerminal(error.sentence()).c_str());
  return error.kind == Kind::NotFound ? kNoRun : kFailed;
}

int cancel(const Options& options) {
  auto run = options.run_dir.empty() ? findLivingRun() : connectTo(options.run_dir);
  if (!run && run.error().kind == Kind::NotFound && !options.run_dir.empty())
    return failed({Kind::NotFound, "no run goes on in " + options.run_dir, 0});
  if (!run) return failed(run.error());
  const std::string by = "uid " + std::to_string(::geteuid());
  auto answer = ask(*run, {{"cancel", {{"by", by}}}});
  if (!answer) return failed(answer.error());
  if (auto ends = checkCancelling(*answer); !ends) return failed(ends.error());
  const std::string run_id = std::filesystem::path(run->run_dir).filename().string();
  if (options.as_json)
    std::printf("%s\n",
                json::serialize(json::object{{"run_id", run_id}, {"cancelling", true}}).c_str());
  else
    std::printf("the run %s was asked to end; `warder status` tells how it stands\n",
                base::escapeForTerminal(run_id).c_str());
  return 0;
}

}  // namespace

base::Status checkCancelling(const json::object& answer) {
  const auto* cancelling = answer.if_contains("cancelling");
  if (cancelling != nullptr && cancelling->is_bool() && cancelling->get_bool()) return {};
  return Error{Kind::Peer,
               "the run's answer does not say that it ends; `warder status` tells how it stands",
               0};
}

void addCancelCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("cancel", "Asks the run in this box to end in good order");
  command->add_option("RUN_DIR", options->run_dir,
                      "The run's folder in a spool; else the newest that goes on, as for status");
  command->add_flag("--json", options->as_json, "Prints the answer as one JSON object");
  command->footer(
      "The agent gets its stop signal and its grace, results are collected, and the outcome is\n"
      "stopped (cancelled). Exit codes: 0 the run was asked, 1 it could not be, 3 there is no run\n"
      "that goes on.");
  command->callback([options, &exit_code] { exit_code = cancel(*options); });
}

}  // namespace warder::cli
