#include "supervisor/cli/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>

#include "supervisor/base/fault.h"
#include "supervisor/base/log.h"
#include "supervisor/cli/command_cancel.h"
#include "supervisor/cli/command_check.h"
#include "supervisor/cli/command_deliver.h"
#include "supervisor/cli/command_events.h"
#include "supervisor/cli/command_init.h"
#include "supervisor/cli/command_run.h"
#include "supervisor/cli/command_schema.h"
#include "supervisor/cli/command_status.h"
#include "supervisor/cli/command_verify.h"
#include "supervisor/cli/environment_secrets.h"
#include "supervisor/cli/microvm.h"

#ifndef WARDER_VERSION
#define WARDER_VERSION "0.1.0"
#endif

namespace warder::cli {

namespace {

constexpr std::string_view kCommands[] = {"run",    "check",   "status", "events",
                                          "cancel", "deliver", "verify", "schema"};

/// What this binary tells itself when it has moved secrets out of its environment.
std::optional<std::string> movedSecrets(int argc, char** argv) {
  const std::string option = std::string(kMovedSecretsOption) + "=";
  if (argc < 2 || !std::string_view(argv[1]).starts_with(option)) return std::nullopt;
  return std::string(argv[1]).substr(option.size());
}

/// As PID 1 or under the name "init" that word may be left out, and so may the "--" in front of the
/// command, whose own options are not ours to read.
std::vector<std::string> initWords(std::vector<std::string> words, const CLI::App& init) {
  if (words.empty() || words.front() != "init") words.insert(words.begin(), "init");
  std::size_t at = 1;
  while (at < words.size() && words[at] != "--") {
    if (!words[at].starts_with("-")) {
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), "--");
      break;
    }
    const auto* option = init.get_option_no_throw(words[at]);
    at += option != nullptr && option->get_items_expected_max() > 0 ? 2 : 1;
  }
  return words;
}

/// One sentence about the first option that nobody knows, with the nearest valid one; empty when
/// the words at fault are no options.
std::string unknownOption(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    const auto extras = command->remaining();
    if (extras.empty() || !extras.front().starts_with("-")) continue;
    std::vector<std::string> valid;
    for (const auto* option : command->get_options())
      for (const auto& name : option->get_lnames()) valid.push_back("--" + name);
    const std::string word = extras.front().substr(0, extras.front().find('='));
    const std::string close = base::nearest(word, valid);
    return "warder " + command->get_name() + ": there is no option " +
           base::escapeForTerminal(word) + (close.empty() ? "" : "; did you mean " + close + "?") +
           " (--help lists them)";
  }
  return {};
}

}  // namespace

bool actsAsInit(int argc, char** argv) {
  const std::string_view name = argc > 0 ? argv[0] : "";
  const int at = movedSecrets(argc, argv) ? 2 : 1;
  const std::string_view first = argc > at ? argv[at] : "";
  if (first == "init" || name == "init" || name.ends_with("/init")) return true;
  if (::getpid() != 1 || first == "--help" || first == "-h" || first == "--version") return false;
  return std::find(std::begin(kCommands), std::end(kCommands), first) == std::end(kCommands);
}

int commandLine(int argc, char** argv) {
  // A machine's boot waits for this, and there is nothing to parse.
  if (argc == 3 && argv[1] == std::string_view("init") && argv[2] == std::string_view("--microvm"))
    return runMicrovm();
  CLI::App app(
      "Runs an AI agent in a box: lends it API keys it never holds, keeps it to a policy,\n"
      "and sees its outcome home.",
      "warder");
  app.set_version_flag("--version", WARDER_VERSION);
  app.require_subcommand(1);
  app.footer("Start with:  warder check job.yaml  and  warder run job.yaml");
  const std::string moved = movedSecrets(argc, argv).value_or("");

  int exit_code = 0;
  const bool as_init = actsAsInit(argc, argv);
  addInitCommand(app, {argc, argv, &moved}, exit_code);
  if (!as_init) {
    addRunCommand(app, {argc, argv, &moved}, exit_code);
    addCheckCommand(app, exit_code);
    addStatusCommand(app, exit_code);
    addEventsCommand(app, exit_code);
    addCancelCommand(app, exit_code);
    addDeliverCommand(app, exit_code);
    addVerifyCommand(app, exit_code);
    addSchemaCommand(app, exit_code);
  }
  try {
    std::vector<std::string> words(argv + (movedSecrets(argc, argv) ? 2 : 1), argv + argc);
    if (as_init) words = initWords(std::move(words), *app.get_subcommand("init"));
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::ExtrasError& error) {
    if (const auto sentence = unknownOption(app); !sentence.empty()) {
      std::cerr << sentence << "\n";
      return kBadArguments;
    }
    return app.exit(error) == 0 ? 0 : kBadArguments;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadArguments;
  } catch (const std::exception& error) {
    base::log(base::Level::Error, error.what());
    return 16;
  }
  return exit_code;
}

}  // namespace warder::cli
