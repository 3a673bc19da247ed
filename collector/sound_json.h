// JSON that others wrote, made safe to add up, to keep and to hand on. Pure.
#pragma once
#include <boost/json.hpp>
#include <optional>
#include <string_view>

namespace warder::collector {

namespace json = boost::json;

/// The largest number that is taken from anybody: 2^53, up to which every reader of JSON counts
/// exactly. Source: RFC 8259 section 6.
inline constexpr double kMaxNumber = 9007199254740992.0;

/// The number in `value` within 0 and kMaxNumber; 0 for a null pointer, for what is no number, for
/// NaN and below 0.
double soundNumber(const json::value* value);

/// The same for every number among the members of `object`; deeper ones are left.
void clampNumbers(json::object& object);

/// Reads JSON that is or will be kept. Numbers that JSON cannot print (1e400 is read as infinite)
/// become null at any depth. nullopt when it is no JSON.
std::optional<json::value> readBack(std::string_view text);

}  // namespace warder::collector
