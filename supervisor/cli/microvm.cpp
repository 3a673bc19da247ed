#include "supervisor/cli/microvm.h"

#include <cstdlib>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/boot/machine.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/in_place_run.h"
#include "supervisor/cli/refused_run.h"
#include "supervisor/init/plain_init.h"

namespace warder::cli {

namespace {

constexpr int kSetup = 14, kInternal = 16;
constexpr std::size_t kMostReport = 16 << 20;

/// A kernel gives its first process little, and hands on every NAME=VALUE of its command line that
/// it does not know itself: programs would take that for somebody's wish.
void setEnvironment() {
  ::clearenv();
  ::setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
  ::setenv("HOME", "/root", 1);
  ::setenv("LANG", "C.UTF-8", 1);
}

/// What the report says of the run's end.
std::string sentenceOf(const std::string& report_file) {
  auto text = base::readFile(report_file, kMostReport);
  if (!text) return "the run left no report; the lines above say why";
  auto report = base::parseJson(*text);
  if (!report) return "the run's report cannot be read";
  try {
    const auto& outcome = report->at("outcome").as_object();
    return std::string(outcome.at("class").as_string()) + " (" +
           std::string(outcome.at("reason").as_string()) +
           "): " + std::string(outcome.at("sentence").as_string());
  } catch (const std::exception&) {
    return "the run's report cannot be read";
  }
}

[[noreturn]] void runJob(const boot::Machine& machine) {
  static std::string moved;
  InPlaceRun run;
  run.request.job_file = *machine.job_file;
  run.request.spool = machine.spool;
  run.request.engine = "microvm";
  run.request.overrides.command = machine.settings.command;
  run.request.invocation = {0, nullptr, &moved};
  run.cgroups = machine.cgroups.root;
  run.boot_warnings = machine.warnings;
  const auto end = runInPlace(std::move(run));
  const std::string refused = "nothing was started; the lines above say why";
  boot::endMachine({end.exit_code, end.report_file.empty() ? refused : sentenceOf(end.report_file),
                    end.report_file, end.started ? "" : refused});
}

/// A machine that could not be prepared for its job leaves a report too, as far as it came.
[[noreturn]] void refuseMachine(const base::Error& why) {
  static std::string moved;
  RunRequest request;
  request.spool = boot::kSpoolFolder;
  request.engine = "microvm";
  request.invocation = {0, nullptr, &moved};
  const auto end = recordRefusedRun({request, {}, {"box", {{"", why.sentence()}}}});
  boot::endMachine({kSetup, end.report_file.empty() ? why.sentence() : sentenceOf(end.report_file),
                    end.report_file, why.sentence()});
}

/// What stands behind " -- " on the kernel command line, as a command without a job.
[[noreturn]] void runCommand(std::vector<std::string> command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  init::PlainInit plain;
  plain.command = argv.data();
  plain.quiet = true;
  const int code = init::runPlainInit(plain);
  boot::endMachine({code, command[0] + " ended with exit code " + std::to_string(code), ""});
}

[[noreturn]] void runMachine() {
  auto machine = boot::prepareMachine();
  if (!machine) refuseMachine(machine.error());
  if (machine->job_file) runJob(*machine);  // which tells the warnings as events
  for (const auto& warning : machine->warnings) base::log(base::Level::Warn, warning);
  if (!machine->settings.command.empty()) runCommand(machine->settings.command);
  refuseMachine({base::Kind::Config,
                 "nothing to run: set warder.job, warder.job64, or put a command behind \" -- \" "
                 "on the kernel command line"});
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
  setEnvironment();
  try {
    runMachine();
  } catch (const std::exception& error) {
    boot::endMachine({kInternal, std::string("init: ") + error.what(), ""});
  }
}

}  // namespace warder::cli
