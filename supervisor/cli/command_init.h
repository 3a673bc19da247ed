// warder init: PID 1 of a container or a machine; also what the binary does when it is PID 1.
#pragma once

namespace CLI {
class App;
}

namespace warder::cli {

/// warder init [OPTIONS] [--] COMMAND… . exit_code: the command's own, 128+n when a signal ended
/// it, 126 or 127 when it could not be started.
void addInitCommand(CLI::App& app, int& exit_code);

}  // namespace warder::cli
