// A run's status in words. Pure; what came from the agent is escaped.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/init/run_status.h"

namespace warder::cli {

/// "running for 1m23s" for people: lines of "name  value".
std::string statusText(const init::RunStatus& status);

/// "1.2 GiB", "640 KiB", "12 bytes".
std::string shortSize(std::uint64_t bytes);
/// "950", "12.3k", "4.1M".
std::string shortCount(std::uint64_t count);
/// "4.2s", "1m23s", "2h05m".
std::string shortTime(std::int64_t elapsed_ms);
/// "$0.1234".
std::string money(double usd);
/// Whole percent of the limit, 0 without one.
int percentOf(const init::RunStatus::Memory& memory);

}  // namespace warder::cli
