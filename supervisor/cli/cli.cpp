#include "supervisor/cli/cli.h"

#include <CLI/CLI.hpp>

#include "supervisor/base/log.h"
#include "supervisor/cli/command_check.h"
#include "supervisor/cli/command_deliver.h"
#include "supervisor/cli/command_events.h"
#include "supervisor/cli/command_run.h"
#include "supervisor/cli/command_schema.h"
#include "supervisor/cli/command_verify.h"
#include "supervisor/cli/environment_secrets.h"

#ifndef WARDER_VERSION
#define WARDER_VERSION "0.1.0"
#endif

namespace warder::cli {

int commandLine(int argc, char** argv) {
  CLI::App app(
      "Runs an AI agent in a box: lends it API keys it never holds, keeps it to a policy,\n"
      "and sees its outcome home.",
      "warder");
  app.set_version_flag("--version", WARDER_VERSION);
  app.require_subcommand(1);
  app.footer("Start with:  warder check job.yaml  and  warder run job.yaml");
  // Set by this binary itself when it has moved secrets out of its environment.
  std::string moved;
  app.add_option(kMovedSecretsOption, moved)->group("");

  int exit_code = 0;
  addRunCommand(app, {argc, argv, &moved}, exit_code);
  addCheckCommand(app, exit_code);
  addEventsCommand(app, exit_code);
  addDeliverCommand(app, exit_code);
  addVerifyCommand(app, exit_code);
  addSchemaCommand(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadArguments;
  } catch (const std::exception& error) {
    base::log(base::Level::Error, error.what());
    return 16;
  }
  return exit_code;
}

}  // namespace warder::cli
