#include "supervisor/cli/command_init.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "supervisor/base/units.h"
#include "supervisor/cli/in_place_run.h"
#include "supervisor/cli/microvm.h"
#include "supervisor/cli/run_folder.h"
#include "supervisor/init/plain_init.h"
#include "supervisor/watch/signals.h"

namespace warder::cli {

namespace {

struct InitOptions {
  std::vector<std::string> command;
  std::vector<std::string> rewrite;
  std::optional<std::string> parent_death;
  std::vector<int> exit_ok;
  std::string grace = "5s";
  bool group = false;
  bool quiet = false;
  bool microvm = false;
  std::string stop_within = "10s";
  RunRequest request;
};

/// option: what the sentence begins with, such as "--rewrite TERM=INTT".
int signalOf(const std::string& option, const std::string& name) {
  const int number = watch::signalNumber(name);
  if (number == 0)
    throw CLI::ValidationError(option + ": \"" + name +
                               "\" is no signal; names are such as TERM or SIGRTMIN+3");
  return number;
}

std::map<int, int> rewritesOf(const std::vector<std::string>& pairs) {
  std::map<int, int> rewrites;
  for (const auto& pair : pairs) {
    const std::string option = "--rewrite " + pair;
    const auto equals = pair.find('=');
    if (equals == std::string::npos)
      throw CLI::ValidationError(option + " is not FROM=TO, such as TERM=INT");
    const int from = signalOf(option, pair.substr(0, equals));
    const std::string to = pair.substr(equals + 1);
    if (!watch::isHandedOn(from))
      throw CLI::ValidationError(option + ": " + watch::signalName(from) +
                                 " is not for the command: it is the kernel's, or tells of our own"
                                 " fault");
    if (!rewrites.emplace(from, to == "none" ? 0 : signalOf(option, to)).second)
      throw CLI::ValidationError(option + ": " + watch::signalName(from) + " is rewritten twice");
  }
  return rewrites;
}

std::chrono::milliseconds durationOf(const std::string& option, const std::string& text) {
  const auto duration = base::parseDuration(text);
  if (!duration) throw CLI::ValidationError(option + " " + duration.error().sentence());
  return *duration;
}

int runJob(InitOptions& options) {
  options.request.engine = "container";
  options.request.overrides.command = options.command;
  InPlaceRun run;
  run.request = options.request;
  run.quiet = options.quiet;
  run.stop_within = durationOf("--stop-within", options.stop_within);
  return runInPlace(std::move(run)).exit_code;
}

/// Options of one form mean nothing in the other, and nothing is ignored in silence.
void checkForms(const CLI::App& init, const InitOptions& options) {
  const bool job = !options.request.job_file.empty();
  const std::vector<std::string> plain = {"--rewrite", "--group", "--parent-death", "--exit-ok",
                                          "--grace"};
  const std::vector<std::string> jobs = {"--spool", "--results", "--stop-within",
                                         "--passthrough-exit"};
  for (const auto& name : options.microvm ? std::vector<std::string>() : job ? plain : jobs)
    if (init.get_option(name)->count() > 0)
      throw CLI::ValidationError(
          name + (job ? " belongs to an init without --job" : " belongs to an init with --job"));
  if (options.microvm && (job || !options.command.empty()))
    throw CLI::ValidationError("--microvm takes its job or command from the kernel command line");
  if (!options.microvm && !job && options.command.empty())
    throw CLI::ValidationError("COMMAND is missing");
}

[[noreturn]] int runPlain(InitOptions& options) {
  init::PlainInit plain;
  std::vector<char*> argv;
  for (auto& word : options.command) argv.push_back(word.data());
  argv.push_back(nullptr);
  plain.command = argv.data();
  plain.rewrite = rewritesOf(options.rewrite);
  plain.to_group = options.group;
  if (options.parent_death)
    plain.parent_death_signal = signalOf("--parent-death", *options.parent_death);
  plain.exit_ok = {options.exit_ok.begin(), options.exit_ok.end()};
  plain.grace = durationOf("--grace", options.grace);
  plain.quiet = options.quiet;
  const int code = init::runPlainInit(plain);
  // Nothing is left to do or to write: the tables of libraries that were never used need no
  // tidying, which would touch a hundred pages.
  ::_exit(code);
}

void addJobOptions(CLI::App& init, InitOptions& options) {
  RunRequest& request = options.request;
  const char* const group = "With a job";
  init.add_option("--job", request.job_file,
                  "Run this job (docs/job.md); a command after -- runs instead of its agent")
      ->group(group);
  init.add_option("--spool", request.spool, "Where the journal lies until it is delivered")
      ->capture_default_str()
      ->group(group);
  init.add_option("--results", request.overrides.results, "Instead of results.dir")->group(group);
  init.add_option("--stop-within", options.stop_within,
                  "What there is from SIGTERM to the engine's SIGKILL (docker stop -t,\n"
                  "terminationGracePeriodSeconds); the report has its share of it")
      ->capture_default_str()
      ->group(group);
  init.add_flag("--passthrough-exit", request.passthrough_exit,
                "Exit with the agent's own code (128+N for signal N) where an agent ran")
      ->group(group);
}

}  // namespace

void addInitCommand(CLI::App& app, Invocation invocation, int& exit_code) {
  auto options = std::make_shared<InitOptions>();
  options->request.spool = defaultSpool();
  options->request.invocation = invocation;
  auto* init =
      app.add_subcommand("init", "Is PID 1: warder init [OPTIONS] [--] COMMAND [ARGUMENTS...]");
  init->add_option("command", options->command, "The command and its arguments");
  init->add_option("--rewrite", options->rewrite,
                   "FROM=TO: send TO instead of FROM, or nothing (none); may be repeated")
      ->allow_extra_args(false);
  init->add_flag("--group", options->group,
                 "Hand signals to the command's process group, not to the command alone");
  init->add_option("--parent-death", options->parent_death,
                   "The signal to get when the process that started us dies");
  init->add_option("--exit-ok", options->exit_ok,
                   "An exit code of the command that becomes 0; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 255));
  init->add_option("--grace", options->grace,
                   "What processes that outlive the command get between SIGTERM and SIGKILL")
      ->capture_default_str();
  init->add_flag("--quiet", options->quiet, "Say nothing but failures");
  init->footer(
      "Exit code: the command's own; 128+N when signal N ended it; 127 when it is not there, 126\n"
      "when it cannot be executed; 125 when this init itself cannot work;\n2 when these arguments "
      "are at fault. With a job: "
      "docs/outcome.md.");
  init->add_flag("--microvm", options->microvm,
                 "Is the first process of a kernel; settings come from its command line");
  addJobOptions(*init, *options);
  init->callback([options, init, &exit_code] {
    checkForms(*init, *options);
    exit_code = options->microvm                    ? runMicrovm()
                : options->request.job_file.empty() ? runPlain(*options)
                                                    : runJob(*options);
  });
}

}  // namespace warder::cli
