// Runs one program to its end, bounded in time, with its output handed on as it comes.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::report {

struct Command {
  std::string program;  // absolute
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // the whole of it
  std::string folder;                    // where it runs
  /// The next piece of standard input; an empty one ends it. Without it, it is /dev/null. SIGPIPE
  /// has to be ignored by the caller.
  std::function<base::Result<std::string>()> input = {};
};

struct CommandEnd {
  int code = -1;       // exit code, or 128 + signal
  std::string errors;  // the first bytes of its standard error
};

using Deadline = std::chrono::steady_clock::time_point;

/// `output` gets standard output piece by piece and may refuse it,
/// which ends the program. Errors: Timeout when the deadline came first (the program's process
/// group is killed), Kernel, or the error of `input` or `output`.
base::Result<CommandEnd> runCommand(const Command& command, Deadline deadline,
                                    const std::function<base::Status(std::string_view)>& output);

}  // namespace warder::report
