// `warder deliver`: sends what a dead box left behind.
#pragma once

namespace CLI {
class App;
}

namespace warder::cli {

/// warder deliver PATH --token-file FILE [--collector URL] [--ca-file FILE] [--within TIME]
/// [--json]. exit_code: 0 everything is acknowledged, 64 something is not, 14 the input is at
/// fault.
void addDeliverCommand(CLI::App& app, int& exit_code);

}  // namespace warder::cli
