// `warder verify`: proves that the record of a run is complete and unchanged.
#pragma once

namespace CLI {
class App;
}

namespace warder::cli {

/// warder verify RUN_DIR [--json]. exit_code: 0 proven, 1 not, 2 not a run's folder.
void addVerifyCommand(CLI::App& app, int& exit_code);

}  // namespace warder::cli
