#include "supervisor/boot/clock.h"

#include <chrono>
#include <string_view>

namespace warder::boot {

namespace {

/// __DATE__ ("Nov 30 2026") in seconds since 1970.
constexpr std::int64_t dateOfCompiler(std::string_view date) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  unsigned month = 1;
  for (unsigned i = 0; i < 12; ++i)
    if (months.substr(std::size_t{3} * i, 3) == date.substr(0, 3)) month = i + 1;
  const auto digit = [date](std::size_t at) {
    return date[at] == ' ' ? 0u : static_cast<unsigned>(date[at] - '0');
  };
  const unsigned day = 10 * digit(4) + digit(5);
  const unsigned year = 1000 * digit(7) + 100 * digit(8) + 10 * digit(9) + digit(10);
  const std::chrono::sys_days days =
      std::chrono::year(static_cast<int>(year)) / std::chrono::month(month) / std::chrono::day(day);
  return std::int64_t{days.time_since_epoch().count()} * 86400;
}

}  // namespace

std::int64_t buildTime() {
  return dateOfCompiler(__DATE__) - 86400;
}

std::string printTime(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d UTC",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

ClockDecision decideClock(std::int64_t now, std::int64_t built, std::optional<std::int64_t> given) {
  if (given && *given < built)
    return {{},
            "clock: warder.clock says " + printTime(*given) +
                ", which is before this binary was built; it was not used"};
  // A clock behind the time of the machine's start is wrong; one ahead of it has only gone on.
  if (given && now < *given) return {*given, {}};
  if (now >= built) return {};
  return {{},
          "clock: it says " + printTime(now) +
              ", which is before this binary was built, so certificates will be refused; set "
              "warder.clock to the seconds since 1970, or give the machine a clock"};
}

}  // namespace warder::boot
