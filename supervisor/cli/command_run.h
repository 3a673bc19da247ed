// warder run JOB: makes a box on this machine and runs the job in it.
#pragma once
#include "supervisor/cli/environment_secrets.h"

namespace CLI {
class App;
}

namespace warder::cli {

/// How this process was called, and what an earlier execution of it moved out of the environment
/// (filled in by the parser).
struct Invocation {
  int argument_count;
  char** arguments;
  const std::string* moved_secrets;
};

void addRunCommand(CLI::App& app, Invocation invocation, int& exit_code);

}  // namespace warder::cli
