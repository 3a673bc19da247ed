// `warder status`: how the run of this box stands. Made for people and for HEALTHCHECK.
#pragma once

namespace CLI {
class App;
}

namespace warder::cli {

/// warder status [RUN_DIR] [--json]. exit_code: 0 the run goes on, or ended ok; 1 it ended
/// otherwise, or does not answer; 3 there is no run.
void addStatusCommand(CLI::App& app, int& exit_code);

}  // namespace warder::cli
