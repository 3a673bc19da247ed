#include "supervisor/base/units.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>

#include "supervisor/base/fault.h"

namespace warder::base {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::uint64_t kKibi = 1024;
constexpr std::uint64_t kKilo = 1000;

constexpr std::array<Unit, 24> kSizes{{
    {"Ki", kKibi},
    {"Mi", kKibi* kKibi},
    {"Gi", kKibi* kKibi* kKibi},
    {"Ti", kKibi* kKibi* kKibi* kKibi},
    {"KiB", kKibi},
    {"MiB", kKibi* kKibi},
    {"GiB", kKibi* kKibi* kKibi},
    {"TiB", kKibi* kKibi* kKibi* kKibi},
    {"k", kKibi},
    {"m", kKibi* kKibi},
    {"g", kKibi* kKibi* kKibi},
    {"t", kKibi* kKibi* kKibi* kKibi},
    {"kb", kKibi},
    {"mb", kKibi* kKibi},
    {"gb", kKibi* kKibi* kKibi},
    {"tb", kKibi* kKibi* kKibi* kKibi},
    {"K", kKilo},
    {"M", kKilo* kKilo},
    {"G", kKilo* kKilo* kKilo},
    {"T", kKilo* kKilo* kKilo* kKilo},
    {"KB", kKilo},
    {"MB", kKilo* kKilo},
    {"GB", kKilo* kKilo* kKilo},
    {"TB", kKilo* kKilo* kKilo* kKilo},
}};

// Falling, so that "1h30m" is read and "30m1h" is not.
constexpr std::array<Unit, 5> kDurations{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::uint64_t kMostMilliseconds = 3650ULL * 86'400'000;

bool isDigit(char character) {
  return character >= '0' && character <= '9';
}

/// Takes the digits at the front of `text`; at most 18, so that they fit.
std::string_view takeDigits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && isDigit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::uint64_t numberOf(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  return number;
}

Error wrong(std::string sentence) {
  return Error{Kind::Config, std::move(sentence), 0};
}

Error wrongSize(std::string_view text) {
  return wrong(inQuotes(text) +
               " is no size; write a number and a unit without a space, such as 512Mi or 4GiB");
}

/// whole.fraction × factor, when that is a whole number that fits.
Result<std::uint64_t> multiply(std::string_view whole, std::string_view fraction,
                               std::uint64_t factor) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(numberOf(whole), factor, &bytes)) {
    return wrong("more than 2^63-1 bytes");
  }
  std::uint64_t scale = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) scale *= 10;
  std::uint64_t part = 0;
  if (__builtin_mul_overflow(numberOf(fraction), factor, &part) || part % scale != 0) {
    return wrong("not a whole number of bytes");
  }
  if (__builtin_add_overflow(bytes, part / scale, &bytes) || bytes > kMostBytes) {
    return wrong("more than 2^63-1 bytes");
  }
  return bytes;
}

}  // namespace

Result<std::uint64_t> parseSize(std::string_view text) {
  std::string_view rest = text;
  const std::string_view whole = takeDigits(rest);
  std::string_view fraction;
  bool has_point = false;
  if (!rest.empty() && rest.front() == '.') {
    has_point = true;
    rest.remove_prefix(1);
    fraction = takeDigits(rest);
  }
  if (whole.empty() || whole.size() > 18 || (has_point && fraction.empty()) ||
      fraction.size() > 9 || (whole.size() > 1 && whole.front() == '0')) {
    return wrongSize(text);
  }
  if (rest.empty()) {
    return wrong(inQuotes(text) + " has no unit; write for example " + std::string(text) + "Mi");
  }
  for (const Unit& unit : kSizes) {
    if (unit.name != rest) continue;
    const auto bytes = multiply(whole, fraction, unit.factor);
    if (!bytes) return bytes.error().during(inQuotes(text) + " is no usable size");
    return bytes;
  }
  return wrongSize(text);
}

Result<std::chrono::milliseconds> parseDuration(std::string_view text) {
  const Error malformed =
      wrong(inQuotes(text) +
            " is no duration; write whole numbers with units d, h, m, s, ms in falling "
            "order, such as 90s or 1h30m");
  std::string_view rest = text;
  std::uint64_t total = 0;
  std::size_t next_unit = 0;
  if (rest.empty()) return malformed;
  while (!rest.empty()) {
    const std::string_view digits = takeDigits(rest);
    if (digits.empty() || digits.size() > 15) return malformed;
    std::size_t letters = 0;
    while (letters < rest.size() && !isDigit(rest[letters])) ++letters;
    if (letters == 0) {
      return wrong(inQuotes(text) + " has no unit; write for example " + std::string(text) + "s");
    }
    const std::string_view name = rest.substr(0, letters);
    rest.remove_prefix(letters);
    while (next_unit < kDurations.size() && kDurations[next_unit].name != name) ++next_unit;
    if (next_unit == kDurations.size()) return malformed;
    std::uint64_t part = 0;
    if (__builtin_mul_overflow(numberOf(digits), kDurations[next_unit].factor, &part) ||
        part > kMostMilliseconds || (total += part) > kMostMilliseconds) {
      return wrong(inQuotes(text) + " is longer than 3650d");
    }
    ++next_unit;
  }
  return std::chrono::milliseconds(total);
}

Result<int> parsePercent(std::string_view text) {
  std::string_view rest = text;
  const std::string_view digits = takeDigits(rest);
  if (rest == "%" && !digits.empty() && digits.size() <= 2 && digits.front() != '0') {
    return static_cast<int>(numberOf(digits));
  }
  return wrong(inQuotes(text) + " is no percentage from 1% to 99%");
}

namespace {

constexpr std::uint64_t kMostCount = 1'000'000'000'000'000;
constexpr std::array<Unit, 3> kCounts{
    {{"k", kKilo}, {"M", kKilo* kKilo}, {"G", kKilo* kKilo* kKilo}}};

/// Digits, maybe a point and digits; what follows stays in `text`.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
  bool sound = false;
};
Decimal takeDecimal(std::string_view& text) {
  Decimal decimal;
  decimal.whole = takeDigits(text);
  const bool has_point = !text.empty() && text.front() == '.';
  if (has_point) {
    text.remove_prefix(1);
    decimal.fraction = takeDigits(text);
  }
  decimal.sound = !decimal.whole.empty() && decimal.whole.size() <= 16 &&
                  (decimal.whole.size() == 1 || decimal.whole.front() != '0') &&
                  decimal.fraction.size() <= 9 && has_point != decimal.fraction.empty();
  return decimal;
}

}  // namespace

Result<std::uint64_t> parseCount(std::string_view text) {
  std::string_view rest = text;
  const Decimal decimal = takeDecimal(rest);
  std::uint64_t factor = rest.empty() && decimal.fraction.empty() ? 1 : 0;
  for (const Unit& unit : kCounts)
    if (unit.name == rest) factor = unit.factor;
  if (!decimal.sound || factor == 0) {
    return wrong(inQuotes(text) +
                 " is no number of things; write digits, maybe with k, M or G, "
                 "such as 500000, 500k or 20M");
  }
  const auto count = multiply(decimal.whole, decimal.fraction, factor);
  if (!count || *count > kMostCount) {
    return wrong(inQuotes(text) + " is no whole number up to 10^15");
  }
  return count;
}

Result<double> parseDollars(std::string_view text) {
  std::string_view rest = text;
  const Decimal decimal = takeDecimal(rest);
  const bool sound = decimal.sound && rest.empty() && decimal.fraction.size() <= 6;
  const double dollars = sound ? std::strtod(std::string(text).c_str(), nullptr) : 0;
  if (dollars > 0 && dollars <= 1e9) return dollars;
  return wrong(inQuotes(text) +
               " is no amount of US dollars; write more than 0 in plain decimal, such as 25 or "
               "0.50");
}

namespace {

/// "+01:00" and the like in seconds; nothing when it is no zone.
std::optional<std::int64_t> zoneOf(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  for (const std::size_t at : {1, 2, 4, 5})
    if (!isDigit(text[at])) return std::nullopt;
  const auto hours = static_cast<std::int64_t>(numberOf(text.substr(1, 2)));
  const auto minutes = static_cast<std::int64_t>(numberOf(text.substr(4, 2)));
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

}  // namespace

Result<std::chrono::system_clock::time_point> parseTime(std::string_view text) {
  using namespace std::chrono;
  const Error malformed =
      wrong(inQuotes(text) +
            " is no point in time; write it with seconds and a zone, such as 2026-12-24T18:00:00Z");
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kShape.size()) return malformed;
  for (std::size_t at = 0; at < kShape.size(); ++at)
    if (kShape[at] == 'd' ? !isDigit(text[at]) : kShape[at] != text[at]) return malformed;
  const auto part = [text](std::size_t at, std::size_t size) {
    return static_cast<unsigned>(numberOf(text.substr(at, size)));
  };
  std::string_view rest = text.substr(kShape.size());
  if (rest.front() == '.') {
    rest.remove_prefix(1);
    if (takeDigits(rest).empty()) return malformed;
  }
  const auto zone = zoneOf(rest);
  const year_month_day date{year(static_cast<int>(part(0, 4))), month(part(5, 2)), day(part(8, 2))};
  const unsigned hours = part(11, 2);
  const unsigned minutes = part(14, 2);
  const unsigned whole_seconds = part(17, 2);
  if (!zone || !date.ok() || part(0, 4) < 1970 || part(0, 4) > 2199 || hours > 23 || minutes > 59 ||
      whole_seconds > 60) {
    return malformed;
  }
  return sys_days(date) + seconds(hours * 3600 + minutes * 60 + whole_seconds) - seconds(*zone);
}

Result<mode_t> parseMode(std::string_view text) {
  std::string_view digits = text;
  if (digits.substr(0, 2) == "0o") {
    digits.remove_prefix(2);
  } else if (digits.size() < 3 || digits.size() > 4) {
    digits = {};
  }
  mode_t mode = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') return wrong(inQuotes(text) + " is no octal mode");
    mode = mode * 8 + static_cast<mode_t>(digit - '0');
    if (mode > 0777) return wrong(inQuotes(text) + " is more than 0777");
  }
  if (digits.empty()) {
    return wrong(inQuotes(text) + " is no octal mode; write it in quotes, such as \"0755\"");
  }
  return mode;
}

std::string printSize(std::uint64_t bytes) {
  std::string text = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if (bytes < kKibi) return text;
  constexpr std::array<const char*, 4> kNames{"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes) / static_cast<double>(kKibi);
  while (value >= static_cast<double>(kKibi) && unit + 1 < kNames.size()) {
    value /= static_cast<double>(kKibi);
    ++unit;
  }
  std::array<char, 64> shown{};
  std::snprintf(shown.data(), shown.size(), " (%.4g %s)", value, kNames[unit]);
  return text + shown.data();
}

std::string printDuration(std::chrono::milliseconds duration) {
  auto rest = static_cast<std::uint64_t>(duration.count());
  std::string text;
  for (const Unit& unit : kDurations) {
    const std::uint64_t count = rest / unit.factor;
    rest %= unit.factor;
    if (count > 0) text += std::to_string(count) + std::string(unit.name);
  }
  return text.empty() ? "0ms" : text;
}

std::string printMode(mode_t mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode));
  return text.data();
}

}  // namespace warder::base
