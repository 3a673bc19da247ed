// Log lines for operators, on standard error. Never for facts about the run: those are Events.
#pragma once
#include <string>
#include <string_view>

namespace warder::base {

/// error: an operator must act. warn: degraded. info: life cycle. debug: for developers.
enum class Level { Debug, Info, Warn, Error };

/// Writes "warder[stage] message" as one line. Never blocks: a full pipe drops the line and the
/// count of lost lines is told with the next one that gets through. Control characters of the
/// message are escaped, so that nobody can forge a second line.
void log(Level level, std::string_view message);
/// Names the process in its lines ("init", "broker"); levels below `least` are not written.
void setUpLog(std::string_view stage, Level least = Level::Info);
/// `text` with control characters, DEL, C1 controls and invalid UTF-8 shown as \xNN; safe for a
/// terminal.
std::string escapeForTerminal(std::string_view text);

}  // namespace warder::base
