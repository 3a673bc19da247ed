// warder schema: JSON Schema of job and policy files.
#pragma once

namespace CLI {
class App;
}

namespace warder::cli {

void addSchemaCommand(CLI::App& app, int& exit_code);

}  // namespace warder::cli
