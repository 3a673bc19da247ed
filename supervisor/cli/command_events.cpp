#include "supervisor/cli/command_events.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "supervisor/base/log.h"
#include "supervisor/cli/run_finder.h"
#include "supervisor/journal/clean_text.h"
#include "supervisor/journal/reader.h"

namespace warder::cli {

namespace json = boost::json;

namespace {

constexpr int kNoRun = 2;
constexpr std::size_t kMaxShown = 400;  // bytes of one value on one line
constexpr int kLookAgainMs = 200;
// A run that was alive and listens no more has ended; its last lines may still be on their way.
constexpr int kLooksAfterItsEnd = 25;

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

/// Waits a moment; false when nobody reads standard output any more.
bool somebodyReads() {
  pollfd reader{STDOUT_FILENO, 0, 0};
  ::poll(&reader, 1, kLookAgainMs);
  return (reader.revents & (POLLERR | POLLNVAL)) == 0;
}

class Events {
 public:
  Events(std::string run_dir, Options options)
      : run_dir_(std::move(run_dir)), options_(std::move(options)), tail_(run_dir_) {}

  int show() {
    for (;;) {
      auto lines = tail_.more();
      if (!lines) return failed(lines.error());
      for (const auto& line : *lines)
        if (!print(line)) return 0;  // nobody reads any more
      if (!lines->empty()) continue;
      if (!options_.follow || finished_) return 0;
      if (!somebodyReads()) return 0;
      if (abandoned())
        return failed({base::Kind::Internal,
                       "the run ended without a word; its journal says what "
                       "was known",
                       0});
    }
  }

 private:
  bool print(const journal::Line& line) {
    // JSON is for programs, byte for byte; but a terminal acts on C1 controls, which JSON keeps.
    const std::string text = !options_.as_json ? printed(line)
                             : to_terminal_    ? base::escapeForTerminal(line.text)
                                               : line.text;
    auto event = journal::eventOf(line);
    finished_ = finished_ || (event && event->type == "run.finished");
    // Whoever follows through a pipe sees each line at once.
    return std::printf("%s\n", text.c_str()) >= 0 && (!options_.follow || std::fflush(stdout) == 0);
  }

  bool abandoned() {
    const bool alive = bool(connectTo(run_dir_));
    was_alive_ = was_alive_ || alive;
    silent_looks_ = alive ? 0 : silent_looks_ + 1;
    return was_alive_ && silent_looks_ > kLooksAfterItsEnd;
  }

  std::string run_dir_;
  Options options_;
  journal::JournalTail tail_;
  const bool to_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  bool finished_ = false;
  bool was_alive_ = false;
  int silent_looks_ = 0;
};

/// The run that goes on here, else the newest that is kept here.
base::Result<std::string> runHere() {
  auto living = findLivingRun();
  if (living) return std::move(living->run_dir);
  const auto runs = runsIn(spoolsHere());
  if (runs.empty())
    return base::Error{
        base::Kind::NotFound,
        "there is no run here" + living.error().doing.substr(living.error().doing.find(';')), 0};
  return runs.front();
}

int show(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  auto run_dir = options.run_dir.empty() ? runHere() : options.run_dir;
  if (!run_dir) return failed(run_dir.error());
  if (auto identity = journal::readIdentity(*run_dir); !identity)
    return failed(identity.error().during("this is no folder of a run"));
  return Events(*run_dir, options).show();
}

}  // namespace

void addEventsCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("events", "Show the events of a run, dead or alive");
  command->add_option(
      "RUN_DIR", options->run_dir,
      "The run's folder in a spool; else the newest that goes on here, else the newest");
  command->add_flag("-f,--follow", options->follow, "Go on until the run has ended");
  command->add_flag("--json", options->as_json, "Print the journal's own lines (docs/events.md)");
  command->footer(
      "With -f each line is printed at once, and the command ends with the run, or quietly when\n"
      "nobody reads any more. Exit codes: 0 shown, 2 there is no such run, or it ended without a "
      "word.");
  command->callback([options, &exit_code] { exit_code = show(*options); });
}

}  // namespace warder::cli
