#include "supervisor/base/event.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace warder::base {

namespace {
constexpr std::array<std::string_view, 3> kDurability = {"sample", "message", "outcome"};
}

json::object toMessage(const Event& event) {
  return {{"type", event.type},
          {"data", event.data},
          {"durability", kDurability[static_cast<std::size_t>(event.durability)]},
          {"time", timestamp(event.time)}};
}

Event eventFromMessage(const json::object& message) {
  Event event;
  event.type = std::string(message.at("type").as_string());
  event.data = message.at("data").as_object();
  const auto& durability = message.at("durability").as_string();
  for (std::size_t i = 0; i < kDurability.size(); ++i)
    if (durability == kDurability[i]) event.durability = static_cast<Durability>(i);
  event.time = parseTimestamp(message.at("time").as_string());
  return event;
}

std::string timestamp(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto since = duration_cast<nanoseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = since / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%09lldZ",
                static_cast<long long>(since % 1'000'000'000));
  return text;
}

std::chrono::system_clock::time_point parseTimestamp(std::string_view text) {
  using namespace std::chrono;
  std::tm parts{};
  const std::string copy(text);
  const char* rest = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return {};
  long long fraction = 0;
  if (*rest == '.') {
    long long scale = 1'000'000'000;
    for (++rest; *rest >= '0' && *rest <= '9' && scale > 1; ++rest) {
      scale /= 10;
      fraction += (*rest - '0') * scale;
    }
  }
  return system_clock::time_point(
      duration_cast<system_clock::duration>(seconds(::timegm(&parts)) + nanoseconds(fraction)));
}

}  // namespace warder::base
