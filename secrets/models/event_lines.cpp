#include "secrets/models/event_lines.h"

#include <algorithm>

namespace warder::models {
namespace {

/// The end of a line, or of the bytes. Two passes that the library does many bytes at a time.
std::size_t lineEnd(std::string_view bytes) {
  const std::size_t newline = std::min(bytes.find('\n'), bytes.size());
  return std::min(bytes.substr(0, newline).find('\r'), newline);
}

}  // namespace

void EventLines::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    const std::size_t end = lineEnd(bytes);
    feedLine(bytes.substr(0, end));
    if (end == bytes.size()) return;
    after_return_ = bytes[end] == '\r';
    endLine();
    bytes.remove_prefix(end + 1);
  }
}

void EventLines::feedLine(std::string_view bytes) {
  constexpr std::string_view kData = "data:";
  if (bytes.empty()) return;
  line_is_empty_ = false;
  while (!line_is_data_ && !bytes.empty()) {
    if (line_start_.size() == kData.size()) return;  // some other field
    line_start_ += bytes.front();
    bytes.remove_prefix(1);
    line_is_data_ = line_start_ == kData;
  }
  if (line_is_data_ && !bytes.empty()) sink_.onData(bytes);
}

/// A blank line ends the event.
void EventLines::endLine() {
  if (line_is_data_) sink_.onData("\n");
  if (line_is_empty_) sink_.onEventEnd();
  line_start_.clear();
  line_is_data_ = false;
  line_is_empty_ = true;
}

}  // namespace warder::models
