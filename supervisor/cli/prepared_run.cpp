#include "supervisor/cli/prepared_run.h"

#include <fcntl.h>

#include <filesystem>
#include <iostream>
#include <limits>

#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/machine.h"
#include "supervisor/cli/refused_run.h"
#include "supervisor/cli/results_target.h"
#include "supervisor/cli/run_folder.h"
#include "supervisor/cli/secret_files.h"
#include "supervisor/cli/secret_sources.h"
#include "supervisor/init/in_place.h"
#include "supervisor/init/orders.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/report/close_interrupted.h"
#include "supervisor/report/outcome.h"
#include "supervisor/report/results_folder.h"
#include "supervisor/watch/signals.h"

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Result;
namespace json = base::json;

namespace {

constexpr int kInternal = 16;
constexpr int kUndelivered = 64;  // added to the exit code (docs/outcome.md)
constexpr int kStopped = 15;
constexpr std::size_t kMaxReport = 16 << 20;
// Where an engine's SIGKILL is near, larger logs stay in the spool.
constexpr std::uint64_t kHurriedLog = 64 << 20;
constexpr std::uint64_t kAnyLog = std::numeric_limits<std::uint64_t>::max();

base::Status openSources(PreparedRun& run, const MovedSecrets& moved) {
  for (const auto& secret : run.orders.job.secrets) {
    const auto handed = job::handedOf(secret.from);
    // A program's secret comes later; nothing holds its place.
    auto opened = handed ? openSource(*handed, moved) : base::openFile("/dev/null", O_RDONLY);
    if (!opened) return opened.error().during("secret " + secret.name);
    run.secrets.push_back(std::move(*opened));
  }
  for (const auto& sink : run.orders.job.results.to) {
    auto token = openToken(sink.token, moved);
    if (!token) return token.error().during("the token of " + sink.url);
    run.tokens.push_back(std::move(*token));
  }
  return {};
}

base::Status makeFolders(PreparedRun& run) {
  if (auto fine = checkSpool(run.request.spool, run.orders.job); !fine) return fine;
  auto results = openResultsFolder(run.orders.job);
  if (!results) return results.error();
  run.results = std::move(*results);
  run.config.run_id = newRunId();
  auto folder = makeRunFolder(run.request.spool, run.config.run_id, run.orders.job);
  if (!folder) return folder.error();
  run.config.run_dir = std::move(*folder);
  return {};
}

std::string sentenceOf(const json::value& report) {
  try {
    const auto& outcome = report.at("outcome").as_object();
    const auto word = [&outcome](const char* key) {
      return base::escapeForTerminal(std::string_view(outcome.at(key).as_string()));
    };
    std::string text = word("class") + " (" + word("reason") + "): " + word("sentence");
    if (const auto* advice = outcome.if_contains("advice"))
      if (advice->is_string() && !advice->as_string().empty()) text += "\nnext: " + word("advice");
    return text;
  } catch (const std::exception&) {
    return "the report cannot be read";
  }
}

/// What the agent itself ended with; nullopt when none ran.
std::optional<int> agentsOwnCode(const json::value& report) {
  try {
    const auto& agent = report.at("agent").as_object();
    if (const auto* code = agent.if_contains("code"); code != nullptr && code->is_number())
      return code->to_number<int>();
    if (const auto* name = agent.if_contains("signal"); name != nullptr && name->is_string())
      return 128 + watch::signalNumber(std::string_view(name->as_string()));
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

/// Leaves the results, says how the run ended and where they are; returns the exit code.
int tell(const PreparedRun& run, int exit_code) {
  const std::string& folder = run.config.run_dir;
  const std::string place = run.orders.job.results.directory + "/" + run.config.run_id;
  auto text = base::readFile(folder + "/" + journal::kReportFile, kMaxReport);
  auto report = text ? base::parseJson(*text) : Result<json::value>(text.error());
  std::ostream& out = run.request.print_json ? std::cerr : std::cout;
  // First what takes no time: whoever stops us may not give us more.
  if (report) out << sentenceOf(*report) << std::endl;
  const bool hurried = run.config.stop_within.count() > 0 && exit_code % kUndelivered == kStopped;
  const auto left =
      report::exportResults(folder, pathOf(run.results), hurried ? kHurriedLog : kAnyLog);
  if (!left && exit_code < kUndelivered) exit_code += kUndelivered;
  if (left)
    out << "results: " << place << "\n";
  else
    out << "the results could not be left in " << place << " (" << left.error().sentence()
        << "); the spool has them: " << folder << "\n";
  for (const auto& sink : run.orders.job.results.to) {
    if (exit_code >= kUndelivered)
      out << "not delivered to " << sink.url << "; later: warder deliver " << folder << "\n";
    else
      out << "page: " << sink.url << "/runs/" << run.config.run_id << "\n";
  }
  if (run.request.print_json && text) std::cout << *text << (text->ends_with('\n') ? "" : "\n");
  if (run.request.print_json && !text)
    std::cout << json::serialize(json::object{{"started", true},
                                              {"exit_code", exit_code},
                                              {"spool", folder},
                                              {"faults", {text.error().sentence()}}})
              << "\n";
  std::cout.flush();
  if (run.request.passthrough_exit && report)
    if (const auto own = agentsOwnCode(*report)) return *own;
  return exit_code;
}

}  // namespace

std::variant<PreparedRun, RunEnd> prepareRun(RunRequest request) {
  const bool in_place = request.engine != "run";
  if (in_place) init::setInPlace(request.overrides);
  const MovedSecrets moved = parseMovedSecrets(*request.invocation.moved_secrets);
  const auto reader = moved.empty() ? init::Reader::Called : init::Reader::Later;
  PreparedRun run{std::move(request), {}, {}, {}, {}, {}};
  run.orders = init::readOrders(run.request.job_file, run.request.overrides, reader);
  const auto refused = [&run, &moved](const std::string& step, base::Faults faults) {
    const bool opened = run.tokens.size() == run.orders.job.results.to.size();
    return refuseRun({run.request,
                      run.orders,
                      {step, std::move(faults)},
                      moved,
                      opened ? &run.tokens : nullptr});
  };
  const auto failed = [&refused](const std::string& step, const Error& why) {
    return refused(step, {{"", why.sentence()}});
  };
  // What a place lacks may be why its files cannot be found.
  if (in_place)
    if (auto possible = init::checkPlace(); !possible) return failed("box", possible.error());
  for (const auto& warning : run.orders.warnings)
    std::cerr << "warning: " << base::escapeForTerminal(base::render(warning)) << "\n";
  if (!run.orders.faults.empty()) return refused("job", run.orders.faults);
  if (in_place)
    if (auto possible = init::checkNetwork(run.orders.policy.allow_degraded); !possible)
      return failed("network", possible.error());
  if (!in_place)
    if (auto possible = checkMachine(); !possible) return failed("box", possible.error());

  const auto variables = job::secretVariables(run.orders.job);
  const auto& invocation = run.request.invocation;
  if (!variables.empty() && moved.empty())
    return failed("broker",
                  moveSecretsOut(variables, {invocation.argument_count, invocation.arguments}));
  // In place the broker says itself, before the agent starts, that it cannot use a secret.
  if (!in_place)
    if (const auto faults = checkSecretFiles(run.orders.job); !faults.empty())
      return refused("broker", faults);
  if (auto opened = openSources(run, moved); !opened) return failed("broker", opened.error());
  if (auto made = makeFolders(run); !made) return failed("spool", made.error());
  run.config.engine = run.request.engine;
  run.config.job_file = run.orders.job.file;
  run.config.job_digest = run.orders.job.digest;
  run.config.workspace = run.orders.job.agent.workspace;
  run.config.command = run.request.overrides.command;
  if (const char* home = ::getenv("HOME"); home != nullptr) run.config.home = home;
  if (!in_place) run.config.rootfs = run.orders.job.agent.root;
  return run;
}

RunEnd refuseStarted(const PreparedRun& run, const Error& why) {
  std::error_code failure;
  std::filesystem::remove_all(run.config.run_dir, failure);
  return refuseRun({run.request, run.orders, {"box", {{"", why.sentence()}}}, {}, &run.tokens});
}

RunEnd finishRun(const PreparedRun& run, const Result<int>& ended) {
  const std::string& folder = run.config.run_dir;
  tidyRunFolder(folder);
  if (!ended && ended.error().kind != Kind::Internal) return refuseStarted(run, ended.error());
  if (!ended) base::log(base::Level::Error, ended.error().sentence());
  // Whatever happened to init or the scribe, the journal gets an end, and the run that code.
  std::error_code failure;
  const bool whole = std::filesystem::exists(folder + "/" + journal::kReportFile, failure);
  if (auto closed = report::closeInterrupted(folder, ended ? "scribe" : "init"); !closed)
    base::log(base::Level::Error, closed.error().sentence());
  return {tell(run, whole && ended ? *ended : kInternal + kUndelivered),
          folder + "/" + journal::kReportFile};
}

}  // namespace warder::cli
