// `warder events`: shows what happened in a run, or is happening.
#pragma once

namespace CLI {
class App;
}

namespace warder::cli {

/// warder events [RUN_DIR] [-f] [--json]. exit_code: 0 shown, 2 there is no such run, or it ended
/// without a word while it was followed.
void addEventsCommand(CLI::App& app, int& exit_code);

}  // namespace warder::cli
