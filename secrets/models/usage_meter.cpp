#include "secrets/models/usage_meter.h"

#include <algorithm>

namespace warder::models {

std::string plainName(std::string_view text) {
  std::string name(text.substr(0, 128));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("._:/@[]-").find(c) != std::string_view::npos;
    if (!plain) c = '?';
  }
  return name;
}

namespace {

std::string cleanName(std::string_view text, const CleanText& clean) {
  std::string name(text);
  if (clean) clean(name);
  return plainName(name);
}

}  // namespace

ModelScan::ModelScan(CleanText clean)
    : clean_(std::move(clean)), scan_([this](std::string_view path, const http::JsonValue& value) {
        if (path == "model" && !value.number) model_ = cleanName(value.text, clean_);
      }) {}

void ModelScan::feed(std::string_view bytes) {
  if (model_.empty()) scan_.feed(bytes);
}

UsageMeter::UsageMeter(bool streamed, CleanText clean)
    : streamed_(streamed),
      clean_(std::move(clean)),
      scan_([this](std::string_view path, const http::JsonValue& value) { take(path, value); }) {}

/// A whole answer holds "usage" and "model"; a stream holds them in message_start's "message" and
/// later, cumulative, in message_delta's "usage".
void UsageMeter::take(std::string_view path, const http::JsonValue& value) {
  if (path == "error.type" && !value.number) error_ = cleanName(value.text, clean_);
  if (path.starts_with("message.")) path.remove_prefix(8);
  if (path == "model" && !value.number) model_ = cleanName(value.text, clean_);
  if (!value.number || !path.starts_with("usage.")) return;
  path.remove_prefix(6);
  std::uint64_t* counter = path == "input_tokens"                  ? &usage_.input
                           : path == "output_tokens"               ? &usage_.output
                           : path == "cache_read_input_tokens"     ? &usage_.cache_read
                           : path == "cache_creation_input_tokens" ? &usage_.cache_write
                           : path == "cache_creation.ephemeral_1h_input_tokens"
                               ? &usage_.cache_write_1h
                               : nullptr;
  // What no call can have used is not believed, so that sums stay sums.
  constexpr std::uint64_t kMost = 1'000'000'000;
  if (counter != nullptr && *value.number <= kMost) *counter = std::max(*counter, *value.number);
}

void UsageMeter::feed(std::string_view bytes) {
  if (!streamed_) return scan_.feed(bytes);
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    feedLine(bytes.substr(0, end));
    if (end == bytes.size()) return;
    after_return_ = bytes[end] == '\r';
    endLine();
    bytes.remove_prefix(end + 1);
  }
}

void UsageMeter::feedLine(std::string_view bytes) {
  constexpr std::string_view kData = "data:";
  if (bytes.empty()) return;
  line_is_empty_ = false;
  while (!line_is_data_ && !bytes.empty()) {
    if (line_start_.size() == kData.size()) return;  // some other field
    line_start_ += bytes.front();
    bytes.remove_prefix(1);
    line_is_data_ = line_start_ == kData;
  }
  if (line_is_data_) scan_.feed(bytes);
}

/// Several data lines of one event are one document; a blank line ends the event.
void UsageMeter::endLine() {
  if (line_is_data_) scan_.feed("\n");
  if (line_is_empty_) scan_.restart();
  line_start_.clear();
  line_is_data_ = false;
  line_is_empty_ = true;
}

}  // namespace warder::models
