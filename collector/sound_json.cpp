#include "collector/sound_json.h"

#include <algorithm>
#include <cmath>

#include "supervisor/base/wire.h"

namespace warder::collector {

namespace {

json::value exact(double number) {
  if (number == std::floor(number)) return static_cast<std::uint64_t>(number);
  return number;
}

/// Recursion is bounded by the depth that base::parseJson takes.
void dropInfinite(json::value& value) {
  if (value.is_double() && !std::isfinite(value.get_double())) value = nullptr;
  if (value.is_array())
    for (json::value& item : value.get_array()) dropInfinite(item);
  if (value.is_object())
    for (auto& member : value.get_object()) dropInfinite(member.value());
}

}  // namespace

double soundNumber(const json::value* value) {
  if (value == nullptr || !value->is_number()) return 0;
  const double number = value->to_number<double>();
  if (std::isnan(number)) return 0;
  return std::clamp(number, 0.0, kMaxNumber);
}

void clampNumbers(json::object& object) {
  for (auto& member : object)
    if (member.value().is_number()) member.value() = exact(soundNumber(&member.value()));
}

std::optional<json::value> readBack(std::string_view text) {
  auto value = base::parseJson(text);
  if (!value) return std::nullopt;
  dropInfinite(*value);
  return std::move(*value);
}

}  // namespace warder::collector
