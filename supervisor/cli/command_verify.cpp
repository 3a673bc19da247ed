#include "supervisor/cli/command_verify.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "supervisor/base/log.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/verify.h"
#include "supervisor/report/fold.h"

namespace warder::cli {

namespace json = boost::json;

namespace {

constexpr int kProven = 0;
constexpr int kNotProven = 1;
constexpr int kNoRun = 2;

struct Options {
  std::string run_dir;
  bool as_json = false;
};

int failed(const Options& options, const base::Error& error) {
  const std::string sentence = base::escapeForTerminal(error.sentence());
  if (options.as_json)
    std::printf(
        "%s\n",
        json::serialize(json::object{{"proven", false}, {"error", error.sentence()}}).c_str());
  else
    std::fprintf(stderr, "warder verify: %s\n", sentence.c_str());
  return kNoRun;
}

json::object toJson(const journal::Verified& verified) {
  json::array findings, notes;
  for (const auto& finding : verified.findings)
    findings.push_back({{"seq", finding.seq}, {"sentence", finding.sentence}});
  for (const auto& note : verified.notes) notes.push_back(json::value(json::string(note)));
  return {{"proven", verified.findings.empty()},
          {"findings", std::move(findings)},
          {"notes", std::move(notes)},
          {"lines", verified.lines},
          {"seals", verified.seals},
          {"last_seq", verified.last_seq},
          {"sealed_to", verified.sealed_to},
          {"head", verified.head},
          {"files", verified.named.size()}};
}

void print(const journal::Verified& verified) {
  for (const auto& finding : verified.findings)
    std::printf("not proven: %s\n", base::escapeForTerminal(finding.sentence).c_str());
  for (const auto& note : verified.notes)
    std::printf("note: %s\n", base::escapeForTerminal(note).c_str());
  if (!verified.findings.empty()) return;
  std::printf(
      "proven: %llu events in an unbroken chain, %llu seals, %zu files; the report is what the "
      "journal gives\nhead %s\n",
      static_cast<unsigned long long>(verified.lines),
      static_cast<unsigned long long>(verified.seals), verified.named.size(),
      verified.head.c_str());
}

int verify(const Options& options) {
  if (auto identity = journal::readIdentity(options.run_dir); !identity)
    return failed(options, identity.error().during("this is no folder of a run"));
  auto verified = journal::verifyRun(options.run_dir);
  if (!verified) return failed(options, verified.error());
  // Only a sound journal can say what the report should be.
  if (verified->findings.empty()) {
    auto differences = report::compareWithJournal(options.run_dir);
    if (!differences) return failed(options, differences.error());
    for (auto& sentence : *differences) verified->findings.push_back({0, std::move(sentence)});
  }
  if (options.as_json)
    std::printf("%s\n", json::serialize(toJson(*verified)).c_str());
  else
    print(*verified);
  return verified->findings.empty() ? kProven : kNotProven;
}

}  // namespace

void addVerifyCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand(
      "verify", "Prove that the record of a run is complete and unchanged: chain, seals, digests");
  command->add_option("RUN_DIR", options->run_dir, "The run's folder in the spool")->required();
  command->add_flag("--json", options->as_json, "Print one JSON object");
  command->footer(
      "Checks every byte of the journal, its hash chain and signatures, the agent's output, all\n"
      "artifacts, and that report.json is what the journal gives.\n"
      "Whoever holds the spool and the key could have written another journal altogether: compare\n"
      "the head with the one that the collector acknowledged.\n"
      "Exit codes: 0 proven, 1 not proven (each reason is a line), 2 this is no run's folder.");
  command->callback([options, &exit_code] { exit_code = verify(*options); });
}

}  // namespace warder::cli
