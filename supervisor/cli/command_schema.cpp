#include "supervisor/cli/command_schema.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "policies/policy_reader.h"
#include "supervisor/base/event.h"
#include "supervisor/base/wire.h"
#include "supervisor/job/job_reader.h"

namespace warder::cli {
namespace {

namespace json = base::json;

/// The job's schema with the policy's inside it, so that one file is enough for an editor.
/// Source: JSON Schema 2020-12 core, section 9.3 (compound documents).
std::string jobSchemaText() {
  auto job = base::parseJson(job::jobSchema());
  auto policy = base::parseJson(policies::policySchema());
  if (!job || !policy) return {};
  job->as_object().at("$defs").as_object()["policy"] = std::move(*policy);
  return json::serialize(*job) + "\n";
}

}  // namespace

void addSchemaCommand(CLI::App& app, int& exit_code) {
  auto kind = std::make_shared<std::string>("job");
  auto* command = app.add_subcommand("schema", "Prints the JSON Schema of job or policy files");
  command->add_option("kind", *kind, "job or policy")
      ->check(CLI::IsMember({"job", "policy"}))
      ->capture_default_str();
  command->footer("JSON Schema 2020-12; editors check and complete files with it. Exit code: 0.");
  command->callback([kind, &exit_code] {
    const std::string text =
        *kind == "job" ? jobSchemaText() : std::string(policies::policySchema());
    std::fwrite(text.data(), 1, text.size(), stdout);
    exit_code = text.empty() ? 16 : 0;
  });
}

}  // namespace warder::cli
