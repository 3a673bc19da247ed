#include "supervisor/cli/command_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "supervisor/base/event.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/cli/box.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/machine.h"
#include "supervisor/cli/results_target.h"
#include "supervisor/cli/run_folder.h"
#include "supervisor/cli/secret_files.h"
#include "supervisor/init/orders.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/report/close_interrupted.h"
#include "supervisor/report/outcome.h"
#include "supervisor/report/results_folder.h"

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Result;
using base::UniqueFd;
namespace json = base::json;

namespace {

constexpr int kInternal = 16;
constexpr int kUndelivered = 64;  // added to the exit code (docs/outcome.md)
constexpr std::size_t kMaxReport = 16 << 20;

struct RunOptions {
  std::string job_file;
  std::string spool;
  job::Overrides overrides;
  bool print_json = false;
  bool quiet = false;
};

int refuse(const base::Faults& faults) {
  for (const auto& fault : faults)
    std::cerr << base::escapeForTerminal(base::render(fault)) << "\n";
  std::cerr << "warder: nothing was started\n";
  return kBadInput;
}

int refuse(const Error& error) {
  return refuse(base::Faults{{"", error.sentence()}});
}

class Run {
 public:
  Run(RunOptions options, Invocation invocation)
      : options_(std::move(options)), invocation_(invocation) {}

  int run() {
    const MovedSecrets moved = parseMovedSecrets(*invocation_.moved_secrets);
    const auto reader = moved.empty() ? init::Reader::Called : init::Reader::Later;
    init::Orders orders = init::readOrders(options_.job_file, options_.overrides, reader);
    for (const auto& warning : orders.warnings)
      std::cerr << "warning: " << base::escapeForTerminal(base::render(warning)) << "\n";
    if (!orders.faults.empty()) return refuse(orders.faults);
    if (auto possible = checkMachine(); !possible) return refuse(possible.error());
    job_ = std::move(orders.job);

    const auto variables = job::secretVariables(job_);
    if (!variables.empty() && moved.empty())
      return refuse(moveSecretsOut(variables, {invocation_.argument_count, invocation_.arguments}));
    if (const auto faults = checkSecretFiles(job_); !faults.empty()) return refuse(faults);
    BoxInput input;
    for (const auto& secret : job_.secrets)
      if (auto opened = openSource(secret.from, moved); opened)
        input.secrets.push_back(std::move(*opened));
      else
        return refuse(opened.error().during("secret " + secret.name));
    for (const auto& sink : job_.results.to)
      if (auto token = openToken(sink.token, moved); token)
        input.tokens.push_back(std::move(*token));
      else
        return refuse(token.error().during("the token of " + sink.url));
    return runInFolder(std::move(input));
  }

 private:
  static Result<UniqueFd> openSource(const job::SecretSource& from, const MovedSecrets& moved) {
    if (const auto* file = std::get_if<job::FileSource>(&from))
      return base::openFile(file->path, O_RDONLY | O_NOCTTY);
    if (const auto* given = std::get_if<job::FdSource>(&from)) {
      if (::fcntl(given->fd, F_GETFD) < 0)
        return Error{Kind::Config, "descriptor " + std::to_string(given->fd) + " is not open"};
      return base::duplicate(given->fd);
    }
    return base::duplicate(moved.at(std::get<job::EnvSource>(from).variable));
  }

  /// A token is read again by each courier that is started, so it must be seekable.
  static Result<UniqueFd> openToken(const job::SecretSource& from, const MovedSecrets& moved) {
    auto source = openSource(from, moved);
    if (!source || std::holds_alternative<job::FileSource>(from)) return source;
    auto text = base::readAll(source->get(), 65536);
    if (!text) return text.error();
    return base::sealedText("token", *text);
  }

  int runInFolder(BoxInput input) {
    auto results = openResultsFolder(job_);
    if (!results) return refuse(results.error());
    results_ = std::move(*results);
    const std::string run_id = newRunId();
    auto folder = makeRunFolder(options_.spool, run_id, job_);
    if (!folder) return refuse(folder.error());
    input.config.run_id = run_id;
    input.config.run_dir = *folder;
    input.config.job_file = job_.file;
    input.config.job_digest = job_.digest;
    input.config.workspace = job_.agent.workspace;
    input.config.command = options_.overrides.command;

    RunView view(*folder, options_.quiet);
    auto ended = runBox(std::move(input), view);
    tidyRunFolder(*folder);
    if (!ended && ended.error().kind != Kind::Internal) {
      std::error_code failure;
      std::filesystem::remove_all(*folder, failure);
      return refuse(ended.error());
    }
    if (!ended) base::log(base::Level::Error, ended.error().sentence());
    // Whatever happened to init or the scribe, the journal gets an end, and the run that code.
    const bool whole = std::filesystem::exists(*folder + "/" + journal::kReportFile);
    if (auto closed = report::closeInterrupted(*folder, ended ? "scribe" : "init"); !closed)
      base::log(base::Level::Error, closed.error().sentence());
    return tell(*folder, run_id, whole && ended ? *ended : kInternal + kUndelivered);
  }

  /// Leaves the results, says how the run ended and where they are; returns the exit code.
  int tell(const std::string& folder, const std::string& run_id, int exit_code) {
    const std::string place = job_.results.directory + "/" + run_id;
    const auto left = report::exportResults(folder, pathOf(results_));
    if (!left && exit_code < kUndelivered) exit_code += kUndelivered;
    auto text = base::readFile(folder + "/" + journal::kReportFile, kMaxReport);
    auto report = text ? base::parseJson(*text) : Result<json::value>(text.error());
    std::ostream& out = options_.print_json ? std::cerr : std::cout;
    if (report) out << sentenceOf(*report) << "\n";
    if (left)
      out << "results: " << place << "\n";
    else
      out << "the results could not be left in " << place << " (" << left.error().sentence()
          << "); the spool has them: " << folder << "\n";
    for (const auto& sink : job_.results.to) {
      if (exit_code >= kUndelivered)
        out << "not delivered to " << sink.url << "; later: warder deliver " << folder << "\n";
      else
        out << "page: " << sink.url << "/runs/" << run_id << "\n";
    }
    if (options_.print_json && text) std::cout << *text << (text->ends_with('\n') ? "" : "\n");
    return exit_code;
  }

  static std::string sentenceOf(const json::value& report) {
    try {
      const auto& outcome = report.at("outcome").as_object();
      std::string line = std::string(outcome.at("class").as_string()) + " (" +
                         std::string(outcome.at("reason").as_string()) +
                         "): " + std::string(outcome.at("sentence").as_string());
      if (const auto* advice = outcome.if_contains("advice"))
        if (advice->is_string() && !advice->as_string().empty())
          line += "\nnext: " + std::string(advice->as_string());
      std::string safe;
      for (std::size_t at = 0; at != std::string::npos;) {
        const auto end = line.find('\n', at);
        safe += base::escapeForTerminal(line.substr(at, end - at));
        at = end == std::string::npos ? end : end + 1;
        if (at != std::string::npos) safe += "\n";
      }
      return safe;
    } catch (const std::exception&) {
      return "the report cannot be read";
    }
  }

  RunOptions options_;
  Invocation invocation_;
  job::JobSpec job_;
  UniqueFd results_;
};

}  // namespace

void addRunCommand(CLI::App& app, Invocation invocation, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  options->spool = defaultSpool();
  auto* run = app.add_subcommand("run", "Makes a box on this machine and runs a job in it");
  run->add_option("job", options->job_file, "The job file (docs/job.md)")->required();
  run->add_option("command", options->overrides.command,
                  "After --: a command to run instead of the job's agent");
  run->add_option("--spool", options->spool, "Where the run's journal lies until it is delivered")
      ->capture_default_str();
  run->add_option("--workspace", options->overrides.workspace, "Instead of agent.workspace");
  run->add_option("--results", options->overrides.results, "Instead of results.dir");
  run->add_flag("--json", options->print_json,
                "Prints the report as JSON on standard output, all else on standard error");
  run->add_flag("--quiet", options->quiet, "Shows nothing while the run goes on");
  run->footer(
      "Exit code: 0 ok, 1 agent, 10 limit, 11 memory, 12 provider, 13 policy, 14 setup,\n"
      "15 stopped, 16 internal; 64 is added when the report was not acknowledged.");
  run->callback([options, invocation, &exit_code] { exit_code = Run(*options, invocation).run(); });
}

}  // namespace warder::cli
