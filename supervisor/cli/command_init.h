// warder init: PID 1 of a container or a machine; also what the binary does when it is PID 1.
#pragma once
#include "supervisor/cli/command_run.h"

namespace CLI {
class App;
}

namespace warder::cli {

/// warder init [OPTIONS] [--] COMMAND… . exit_code: the command's own, 128+n when a signal ended
/// it, 126 or 127 when it could not be started.
/// With --job FILE the code is the run's own (docs/outcome.md).
void addInitCommand(CLI::App& app, Invocation invocation, int& exit_code);

}  // namespace warder::cli
