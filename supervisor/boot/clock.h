// Whether the clock can be believed, and what to do when not. Certificates are judged by it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace warder::boot {

struct ClockDecision {
  std::optional<std::int64_t> set;  // seconds since 1970 to set the clock to
  std::string warning;              // a sentence, or empty
};

/// `now`: what the clock says; `built`: when this binary was built, before which it cannot run;
/// `given`: warder.clock, the time when the machine was started. All in seconds since 1970. Pure.
ClockDecision decideClock(std::int64_t now, std::int64_t built, std::optional<std::int64_t> given);

/// When this binary was built, from the compiler's date (SOURCE_DATE_EPOCH where it is set), less
/// one day for time zones.
std::int64_t buildTime();

/// "2026-11-30 05:32:10 UTC".
std::string printTime(std::int64_t seconds);

}  // namespace warder::boot
