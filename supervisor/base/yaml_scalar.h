// What YAML parsers make of a scalar without quotes (the Norway problem).
#pragma once
#include <string_view>

namespace warder::base {

/// How some YAML 1.1 or 1.2 parser reads this unquoted text when it does not read it as text:
/// "a boolean", "null", "a number", "a base-60 number", "a date". Empty when all read text.
/// Source: yaml.org/type/ (bool, null, int, float, timestamp, merge, value) and YAML 1.2.2 §10.3.
std::string_view otherReading(std::string_view plain);

/// Decimal digits without sign, leading zero or underscore, at most 18 of them.
bool isPlainDecimal(std::string_view text);

}  // namespace warder::base
