#include "supervisor/cli/command_events.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "supervisor/base/log.h"
#include "supervisor/journal/clean_text.h"
#include "supervisor/journal/reader.h"

namespace warder::cli {

namespace json = boost::json;

namespace {

constexpr int kNoRun = 2;
constexpr std::size_t kMaxShown = 400;  // bytes of one value on one line
constexpr auto kLookAgain = std::chrono::milliseconds(200);

struct Options {
  std::string run_dir;
  bool follow = false;
  bool as_json = false;
};

int failed(const base::Error& error) {
  std::fprintf(stderr, "warder events: %s\n", base::escapeForTerminal(error.sentence()).c_str());
  return kNoRun;
}

/// One line for a terminal: what the agent wrote is in it, so every text is escaped.
std::string printed(const journal::Line& line) {
  auto event = journal::eventOf(line);
  if (!event) return base::escapeForTerminal(event.error().sentence());
  std::string text =
      std::to_string(line.seq) + "  " + base::timestamp(event->time) + "  " + event->type;
  for (const auto& field : event->data) {
    const auto* word = field.value().if_string();
    const std::string value = word ? std::string(*word) : json::serialize(field.value());
    text += "  " + std::string(field.key()) + "=";
    text += journal::cutUtf8(value, kMaxShown);
    if (value.size() > kMaxShown) text += "...";
  }
  return base::escapeForTerminal(text);
}

int show(const Options& options) {
  if (auto identity = journal::readIdentity(options.run_dir); !identity)
    return failed(identity.error().during("this is no folder of a run"));
  journal::JournalTail tail(options.run_dir);
  const bool to_terminal = ::isatty(STDOUT_FILENO) == 1;
  bool finished = false;
  for (;;) {
    auto lines = tail.more();
    if (!lines) return failed(lines.error());
    for (const auto& line : *lines) {
      // JSON is for programs, byte for byte; but a terminal acts on C1 controls, which JSON keeps.
      const std::string text = !options.as_json ? printed(line)
                               : to_terminal    ? base::escapeForTerminal(line.text)
                                                : line.text;
      if (std::printf("%s\n", text.c_str()) < 0) return 0;  // nobody reads any more
      auto event = journal::eventOf(line);
      finished = finished || (event && event->type == "run.finished");
    }
    std::fflush(stdout);
    if (!lines->empty()) continue;
    if (!options.follow || finished) return 0;
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace

void addEventsCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("events", "Show the events of a run, dead or alive");
  command->add_option("RUN_DIR", options->run_dir, "The run's folder in the spool")->required();
  command->add_flag("-f,--follow", options->follow, "Go on until the run has ended");
  command->add_flag("--json", options->as_json, "Print the journal's own lines (docs/events.md)");
  command->footer("Exit codes: 0 shown, 2 this is no run's folder.");
  command->callback([options, &exit_code] { exit_code = show(*options); });
}

}  // namespace warder::cli
