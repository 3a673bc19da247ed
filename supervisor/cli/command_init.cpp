#include "supervisor/cli/command_init.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "supervisor/base/units.h"
#include "supervisor/cli/microvm.h"
#include "supervisor/init/plain_init.h"
#include "supervisor/watch/signals.h"

namespace warder::cli {

namespace {

struct InitOptions {
  std::vector<std::string> command;
  std::vector<std::string> rewrite;
  std::string parent_death;
  std::vector<int> exit_ok;
  std::string grace = "5s";
  bool group = false;
  bool quiet = false;
  bool microvm = false;
};

int signalOf(const std::string& name) {
  const int number = watch::signalNumber(name);
  if (number == 0)
    throw CLI::ValidationError(name + " is no signal; names are such as TERM or SIGRTMIN+3");
  return number;
}

std::map<int, int> rewritesOf(const std::vector<std::string>& pairs) {
  std::map<int, int> rewrites;
  for (const auto& pair : pairs) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos)
      throw CLI::ValidationError("--rewrite " + pair + " is not FROM=TO, such as TERM=INT");
    const std::string to = pair.substr(equals + 1);
    rewrites[signalOf(pair.substr(0, equals))] = to == "none" ? 0 : signalOf(to);
  }
  return rewrites;
}

int runPlain(InitOptions& options) {
  init::PlainInit plain;
  std::vector<char*> argv;
  for (auto& word : options.command) argv.push_back(word.data());
  argv.push_back(nullptr);
  plain.command = argv.data();
  plain.rewrite = rewritesOf(options.rewrite);
  plain.to_group = options.group;
  if (!options.parent_death.empty()) plain.parent_death_signal = signalOf(options.parent_death);
  plain.exit_ok = {options.exit_ok.begin(), options.exit_ok.end()};
  const auto grace = base::parseDuration(options.grace);
  if (!grace) throw CLI::ValidationError("--grace " + grace.error().sentence());
  plain.grace = *grace;
  plain.quiet = options.quiet;
  return init::runPlainInit(plain);
}

}  // namespace

void addInitCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InitOptions>();
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
      "when it cannot be executed; 2 when these arguments are at fault.");
  init->add_flag("--microvm", options->microvm,
                 "Is the first process of a kernel; settings come from its command line");
  init->callback([options, &exit_code] {
    if (options->microvm == !options->command.empty())
      throw CLI::ValidationError(options->microvm
                                     ? "--microvm takes its command from the kernel command line"
                                     : "COMMAND is missing");
    exit_code = options->microvm ? runMicrovm() : runPlain(*options);
  });
}

}  // namespace warder::cli
