#include "supervisor/cli/microvm.h"

#include <vector>

#include "supervisor/base/log.h"
#include "supervisor/boot/machine.h"
#include "supervisor/init/plain_init.h"

namespace warder::cli {

namespace {

constexpr int kSetup = 14, kBadArguments = 2;

/// What stands behind " -- " on the kernel command line, as a command without a job.
[[noreturn]] void runCommand(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  init::PlainInit plain;
  plain.command = argv.data();
  plain.quiet = true;
  const int code = init::runPlainInit(plain);
  boot::endMachine({code, command[0] + " ended with exit code " + std::to_string(code), ""});
}

}  // namespace

int runMicrovm() {
  if (!boot::isFirstProcessOfKernel()) {
    base::log(base::Level::Error,
              "--microvm is for the first process of a kernel, which this is not; in a container "
              "use: warder init --job FILE");
    return kBadArguments;
  }
  base::setUpLog("boot");
  auto machine = boot::prepareMachine();
  if (!machine) boot::endMachine({kSetup, machine.error().sentence(), ""});
  for (const auto& warning : machine->warnings) base::log(base::Level::Warn, warning);
  if (!machine->settings.command.empty()) runCommand(machine->settings.command);
  boot::endMachine(
      {kSetup,
       "nothing to run: set warder.job, warder.job64, or put a command behind \" -- \" "
       "on the kernel command line",
       ""});
}

}  // namespace warder::cli
