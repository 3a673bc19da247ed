// Sizes, durations, percentages and modes as people write them, and back.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace warder::base {

/// Bytes from a number and a unit without a space: Ki Mi Gi Ti (also KiB …) and k m g t (also kb …,
/// as Docker writes them) are powers of 1024; K M G T (also KB …, SI and Kubernetes) are powers of
/// 1000. A fraction ("0.5Gi") must give whole bytes. At most 2^63-1.
/// Errors: Config; the sentence names the right form, for a bare number as an example.
Result<std::uint64_t> parseSize(std::string_view text);

/// Numbers with units ms, s, m, h, d; several in falling order ("1h30m"). At most 3650 days.
/// Errors: Config.
Result<std::chrono::milliseconds> parseDuration(std::string_view text);

/// "1%" to "99%". Errors: Config.
Result<int> parsePercent(std::string_view text);

/// A number of things: plain decimal digits, or a number with k, M or G (thousands, millions,
/// thousands of millions; "1.5M") that gives a whole number. At most 10^15. Errors: Config.
Result<std::uint64_t> parseCount(std::string_view text);

/// US dollars in plain decimal, "25" or "0.50": more than 0, at most 10^9, at most six digits after
/// the point. Errors: Config.
Result<double> parseDollars(std::string_view text);

/// A point in time as RFC 3339 writes it, with seconds and a zone ("2026-12-24T18:00:00Z",
/// "…+01:00"), years 1970 to 2199. Errors: Config.
Result<std::chrono::system_clock::time_point> parseTime(std::string_view text);

/// Permission bits from octal digits, "0o22", "022" or "0755"; at most 0777. Whether the text was
/// in quotes is the caller's matter. Errors: Config.
Result<mode_t> parseMode(std::string_view text);

/// "1610612736 bytes (1.5 GiB)"; below 1 KiB "512 bytes".
std::string printSize(std::uint64_t bytes);
/// "1h30m", "5s", "250ms", "0ms".
std::string printDuration(std::chrono::milliseconds duration);
/// "0755".
std::string printMode(mode_t mode);

}  // namespace warder::base
