#include "supervisor/cli/command_check.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "policies/explain.h"
#include "secrets/grant_plan.h"
#include "supervisor/base/log.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/machine.h"
#include "supervisor/cli/plan_view.h"
#include "supervisor/cli/secret_files.h"
#include "supervisor/init/orders.h"

namespace warder::cli {
namespace {

namespace json = base::json;

struct CheckOptions {
  std::string job_file;
  job::Overrides overrides;
  bool as_json = false;
  std::string question;  // empty: the whole plan
};

/// Where each secret is lent; readOrders has checked that this can be planned.
std::vector<secrets::Grant> grantsOf(const job::JobSpec& job) {
  std::vector<secrets::GrantRequest> requests;
  for (const job::SecretSpec& secret : job.secrets) {
    requests.push_back(init::grantRequestOf(secret));
  }
  auto grants = secrets::planGrants(requests);
  return grants ? std::move(*grants) : std::vector<secrets::Grant>{};
}

json::array toArray(const base::Faults& faults) {
  json::array array;
  for (const base::Fault& fault : faults) {
    array.push_back(json::object{{"where", fault.where}, {"sentence", fault.sentence}});
  }
  return array;
}

void printJson(const init::Orders& orders, const Plan& plan) {
  json::object answer = {{"ok", orders.faults.empty()},
                         {"faults", toArray(orders.faults)},
                         {"warnings", toArray(orders.warnings)}};
  if (orders.faults.empty()) answer["plan"] = planJson(plan);
  std::printf("%s\n", json::serialize(answer).c_str());
}

void printLines(const base::Faults& faults, const char* prefix) {
  for (const base::Fault& fault : faults) {
    std::fprintf(stderr, "%s%s\n", prefix, base::escapeForTerminal(base::render(fault)).c_str());
  }
}

/// `--explain`: what the policy says about one host or request, and nothing else.
int explain(const CheckOptions& options, const policies::Policy& policy) {
  const auto lines = policies::explainQuestion(policy, options.question);
  if (!lines) {
    const base::Faults faults = {{"--explain", lines.error().sentence()}};
    if (options.as_json) {
      const json::object answer = {{"ok", false}, {"faults", toArray(faults)}};
      std::printf("%s\n", json::serialize(answer).c_str());
    } else {
      printLines(faults, "");
    }
    return kBadInput;
  }
  if (options.as_json) {
    const json::object answer = {{"ok", true}, {"explanation", json::value_from(*lines)}};
    std::printf("%s\n", json::serialize(answer).c_str());
    return 0;
  }
  for (const std::string& line : *lines) {
    std::printf("%s\n", base::escapeForTerminal(line).c_str());
  }
  return 0;
}

int check(const CheckOptions& options) {
  init::Orders orders = init::readOrders(options.job_file, options.overrides, init::Reader::Called);
  if (auto possible = checkMachine(); !possible) {
    orders.faults.push_back({"", possible.error().sentence()});
  }
  if (orders.faults.empty()) orders.faults = checkSecretFiles(orders.job);
  if (orders.faults.empty() && !options.question.empty()) return explain(options, orders.policy);
  Plan plan{orders, {}, ::geteuid() != 0};
  const bool sound = orders.faults.empty();
  if (sound) plan.grants = grantsOf(orders.job);
  if (options.as_json) {
    printJson(orders, plan);
  } else {
    printLines(orders.warnings, "warning: ");
    printLines(orders.faults, "");
    if (sound) std::fputs(planText(plan).c_str(), stdout);
  }
  return sound ? 0 : kBadInput;
}

}  // namespace

void addCheckCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  auto* command = app.add_subcommand("check", "Says what is wrong with a job, or what it would do");
  command->add_option("job", options->job_file, "The job file (docs/job.md)")->required();
  command->add_option("command", options->overrides.command,
                      "After --: a command to run instead of the job's agent");
  command->add_option("--workspace", options->overrides.workspace, "Instead of agent.workspace");
  command->add_option("--rootfs", options->overrides.rootfs,
                      "Instead of agent.rootfs: an unpacked image");
  command->add_option("--results", options->overrides.results, "Instead of results.dir");
  command->add_option("--explain", options->question,
                      "Instead of the plan: which rules decide about HOST, HOST:PORT or\n"
                      "'METHOD URL', as 'POST https://api.example.org/v1'");
  command->add_flag("--json", options->as_json, "Prints faults, warnings and plan as JSON");
  command->footer(
      "Nothing is started. Exit code: 0 the job can run here, 14 it cannot; every fault is\n"
      "told at once, as FILE:LINE:COLUMN: sentence.");
  command->callback([options, &exit_code] { exit_code = check(*options); });
}

}  // namespace warder::cli
