// warder check: what is wrong with a job, or what it would do here. Starts nothing.
#pragma once

namespace CLI {
class App;
}

namespace warder::cli {

void addCheckCommand(CLI::App& app, int& exit_code);

}  // namespace warder::cli
