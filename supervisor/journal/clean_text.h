// Journal lines are JSON, and JSON is UTF-8; what agents and file systems say need not be.
#pragma once
#include <boost/json.hpp>
#include <string>
#include <string_view>

namespace warder::journal {

namespace json = boost::json;

/// `text` with each byte that starts no valid UTF-8 sequence replaced by U+FFFD.
std::string validUtf8(std::string_view text);
/// The same for every string and key of a value, in place. Idempotent.
void makeValidUtf8(json::value& value);
void makeValidUtf8(json::object& object);

/// At most `limit` bytes of valid UTF-8 `text`, cut between characters.
std::string_view cutUtf8(std::string_view text, std::size_t limit);

/// Cuts strings longer than `longest_string` bytes (an ellipsis follows) and arrays longer than
/// `longest_array`, at any depth, so that a large value keeps its shape.
void shorten(json::value& value, std::size_t longest_string, std::size_t longest_array);

/// `line` in a form whose JSON string takes at most `limit` bytes. A longer line that is a JSON
/// object keeps its shape (long strings and arrays inside are cut), any other keeps its start.
struct BoundedLine {
  std::string text;
  bool cut = false;
};
BoundedLine boundedLine(std::string_view line, std::size_t limit);

}  // namespace warder::journal
