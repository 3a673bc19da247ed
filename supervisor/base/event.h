// What happened, as rooms tell it. The scribe turns an Event into one journal line.
#pragma once
#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <string>

namespace warder::base {

namespace json = boost::json;

/// How much a line may be worth: Sample may be dropped (oldest first, with a gap record); Message
/// is committed in a group; Outcome is on disk before anyone is told.
enum class Durability { Sample, Message, Outcome };

struct Event {
  std::string type;  // "llm.call", "memory.warning"; the list stands in docs/events.md
  json::object data;
  Durability durability = Durability::Message;
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
};

/// Rooms emit through this; only init knows where it leads.
using Emit = std::function<void(Event)>;

/// An Event as a message between processes, and back. `fromMessage` throws
/// boost::system::system_error on a message that is none.
json::object toMessage(const Event& event);
Event eventFromMessage(const json::object& message);

/// RFC 3339 with nanoseconds in UTC: "2026-11-30T02:13:13.123456789Z".
std::string timestamp(std::chrono::system_clock::time_point time);
std::chrono::system_clock::time_point parseTimestamp(std::string_view text);

}  // namespace warder::base
