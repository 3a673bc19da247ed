// What a person sees of a run while it goes on: one plain line for each thing that matters, and the
// agent's own output, framed and escaped; on a terminal with a live view under it.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"
#include "supervisor/cli/live_view.h"
#include "supervisor/cli/screen_writer.h"

namespace warder::cli {

/// The line for an event, without a time; empty for events that a person need not see. Pure.
std::string describe(const base::Event& event);

/// The beginning of a line, and how long the whole is if that is not all of it. Pure.
std::string shorten(const std::string& start, std::size_t length);

class RunView {
 public:
  /// Writes to standard error; a quiet one writes nothing.
  RunView(std::string run_dir, bool quiet);
  /// Takes the live view away.
  ~RunView();
  RunView(const RunView&) = delete;
  RunView& operator=(const RunView&) = delete;

  void show(const base::Event& event);
  /// How the run stands, as init says it: the JSON of init/run_status.h.
  void showStatus(const base::json::object& status);
  /// Shows what the agent has written since the last call, whole lines, and never waits for whoever
  /// reads: the rest is shown later.
  void showOutput();
  /// Shows all that is left, the live view taken away, and waits for its reader; `interrupt` (-1:
  /// none) ends the wait when it is readable, and false is returned: call again to go on.
  bool finish(int interrupt);

  /// Where there is more to show than its reader took, poll this for POLLOUT; else -1.
  int wantsToWrite() const { return writer_.idle() ? -1 : writer_.fd(); }

 private:
  struct Stream {
    std::string name;
    base::UniqueFd file;
    std::string pending;     // the beginning of the line at hand
    std::size_t length = 0;  // of that line so far
  };
  bool readStream(Stream& stream);
  void showEnd(Stream& stream);
  static void add(Stream& stream, std::string_view piece);
  void showOutputLine(Stream& stream);
  void line(const std::string& text);
  void refresh();

  std::string run_dir_;
  bool quiet_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  ScreenWriter writer_;
  LiveView live_;
  LiveState state_;
  bool may_live_ = true;
  bool status_changed_ = false;
  std::string lines_;  // whole lines that are not with the writer yet
  Stream streams_[2];
};

}  // namespace warder::cli
