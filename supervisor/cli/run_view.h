// What a person sees of a run while it goes on: one plain line for each thing that matters, and the
// agent's own output, framed and escaped.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"

namespace warder::cli {

/// The line for an event, without a time; empty for events that a person need not see. Pure.
std::string describe(const base::Event& event);

/// The beginning of a line, and how long the whole is if that is not all of it. Pure.
std::string shorten(const std::string& start, std::size_t length);

class RunView {
 public:
  /// Writes to standard error; a quiet one writes nothing.
  RunView(std::string run_dir, bool quiet);

  void show(const base::Event& event);
  /// Shows what the agent has written since the last call, whole lines; with `all` the rest too.
  void showOutput(bool all);

 private:
  struct Stream {
    std::string name;
    base::UniqueFd file;
    std::string pending;     // the beginning of the line at hand
    std::size_t length = 0;  // of that line so far
  };
  void showStream(Stream& stream, bool all);
  static void add(Stream& stream, std::string_view piece);
  void line(const std::string& text);

  std::string run_dir_;
  bool quiet_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  Stream streams_[2];
};

}  // namespace warder::cli
