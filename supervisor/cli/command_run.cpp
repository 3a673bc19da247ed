#include "supervisor/cli/command_run.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "supervisor/cli/box.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/prepared_run.h"
#include "supervisor/cli/run_folder.h"

namespace warder::cli {

namespace {

int runRequest(const RunRequest& request, bool quiet) {
  ::signal(SIGPIPE, SIG_IGN);  // whoever reads may leave; the run goes on
  auto prepared = prepareRun(request);
  if (const auto* refused = std::get_if<RunEnd>(&prepared)) return refused->exit_code;
  auto& run = std::get<PreparedRun>(prepared);
  RunView view(run.config.run_dir, quiet);
  auto ended = runBox({run.config, std::move(run.secrets), run.tokens}, view);
  return finishRun(run, ended).exit_code;
}

}  // namespace

void addRunCommand(CLI::App& app, Invocation invocation, int& exit_code) {
  auto request = std::make_shared<RunRequest>();
  auto quiet = std::make_shared<bool>(false);
  request->spool = defaultSpool();
  request->invocation = invocation;
  auto& overrides = request->overrides;
  auto* run = app.add_subcommand("run", "Makes a box on this machine and runs a job in it");
  run->add_option("job", request->job_file, "The job file (docs/job.md)")->required();
  run->add_option("command", overrides.command,
                  "After --: a command to run instead of the job's agent");
  run->add_option("--spool", request->spool, "Where the run's journal lies until it is delivered")
      ->capture_default_str();
  run->add_option("--workspace", overrides.workspace, "Instead of agent.workspace");
  run->add_option("--rootfs", overrides.rootfs, "Instead of agent.rootfs: an unpacked image");
  run->add_option("--results", overrides.results, "Instead of results.dir");
  run->add_flag(
      "--json", request->print_json,
      "Prints one JSON object on standard output: the report, or what was wrong with the\n"
      "job; all else goes to standard error");
  run->add_flag("--quiet", *quiet, "Shows nothing while the run goes on");
  run->add_flag("--passthrough-exit", request->passthrough_exit,
                "Exits with the agent's own code (128+N for signal N) where an agent ran");
  run->footer(
      "On a terminal a live view shows how the run stands; NO_COLOR=1 takes its colours away,\n"
      "TERM=dumb the view. Exit code: 0 ok, 1 agent, 10 limit, 11 memory, 12 provider, 13 policy, "
      "14 setup,\n"
      "15 stopped, 16 internal; 64 is added when the report was not acknowledged.");
  run->callback([request, quiet, &exit_code] { exit_code = runRequest(*request, *quiet); });
}

}  // namespace warder::cli
