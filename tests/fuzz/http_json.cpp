// JSON in pieces whose size is the first byte: what is told does not depend on the pieces, and what
// is JSON for another reader is JSON here.
#include <boost/json/stream_parser.hpp>
#include <cstdlib>
#include <string>

#include "secrets/http/json_scan.h"
#include "secrets/http/json_tokens.h"

using namespace warder::http;

namespace {

class Record final : public JsonTokens::Sink {
 public:
  void onOpen(bool array) override { log += array ? '[' : '{'; }
  void onClose(bool array) override { log += array ? ']' : '}'; }
  void onKey(std::string_view key, bool whole) override { add(key, whole); }
  void onText(std::string_view text, bool whole) override {
    if (text.size() > kMaxJsonText || parts.substr(0, text.size()) != text) std::abort();
    parts.clear();
    add(text, whole);
  }
  void onTextPart(std::string_view piece) override { parts += piece; }
  void onNumber(std::string_view digits, bool whole) override { add(digits, whole); }
  void onWord(JsonTokens::Word word) override { log += std::to_string(static_cast<int>(word)); }

  std::string log;
  std::string parts;

 private:
  void add(std::string_view text, bool whole) { (log += text) += whole ? '|' : '~'; }
};

struct Read {
  std::string log;
  bool good = false;
  std::uint64_t offset = 0;
  bool operator==(const Read&) const = default;
};

Read readIn(std::string_view bytes, std::size_t piece, JsonTokens::Utf8 utf8) {
  Record record;
  JsonTokens tokens(record, utf8);
  for (std::size_t at = 0; at < bytes.size(); at += piece) tokens.feed(bytes.substr(at, piece));
  const bool good = tokens.finish();
  if (good != tokens.fault().empty() || tokens.offset() > bytes.size()) std::abort();
  return {record.log, good, tokens.offset()};
}

/// The same document for Boost.JSON: 1 yes, 0 no, -1 it may differ from ours with good reason.
int forAnother(std::string_view bytes) {
  namespace json = boost::json;
  json::parse_options options;
  options.max_depth = static_cast<unsigned char>(kMaxJsonDepth - 1);
  json::stream_parser parser({}, options);
  boost::system::error_code failure;
  parser.write(bytes.data(), bytes.size(), failure);
  if (!failure) parser.finish(failure);
  if (!failure) return 1;
  const bool half = bytes.find("\\ud") != bytes.npos || bytes.find("\\uD") != bytes.npos;
  const bool differs =
      half || failure == json::error::too_deep || failure == json::error::exponent_overflow;
  return differs ? -1 : 0;
}

std::string scanIn(std::string_view bytes, std::size_t piece) {
  std::string told;
  JsonScan scan([&](std::string_view path, const JsonValue& value) {
    (told += path) += value.number ? std::to_string(*value.number) : std::string(value.text);
  });
  for (std::size_t at = 0; at < bytes.size(); at += piece) scan.feed(bytes.substr(at, piece));
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t piece = data[0] % 32 + 1U;
  for (const auto utf8 : {JsonTokens::Utf8::Checked, JsonTokens::Utf8::Any})
    if (readIn(bytes, piece, utf8) != readIn(bytes, bytes.size() + 1, utf8)) std::abort();
  const int another = forAnother(bytes);
  const bool good = readIn(bytes, piece, JsonTokens::Utf8::Checked).good;
  if (another >= 0 && good != (another == 1)) std::abort();
  if (scanIn(bytes, piece) != scanIn(bytes, bytes.size() + 1)) std::abort();
  return 0;
}
