#include "supervisor/journal/clean_text.h"

#include "supervisor/base/utf8.h"
#include "supervisor/base/wire.h"

namespace warder::journal {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

std::size_t soundPrefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = base::utf8Length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::size_t printedSize(std::string_view text) {
  return json::serialize(json::string(text)).size();
}

}  // namespace

std::string validUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t sound = soundPrefix(text);
    valid += text.substr(0, sound);
    text.remove_prefix(sound);
    if (text.empty()) break;
    valid += kReplacement;
    text.remove_prefix(1);
  }
  return valid;
}

void makeValidUtf8(json::value& value) {
  if (auto* text = value.if_string()) {
    if (soundPrefix(*text) != text->size()) *text = validUtf8(*text);
  } else if (auto* array = value.if_array()) {
    for (auto& item : *array) makeValidUtf8(item);
  } else if (auto* object = value.if_object()) {
    makeValidUtf8(*object);
  }
}

void makeValidUtf8(json::object& object) {
  bool sound = true;
  for (auto& item : object) {
    sound = sound && soundPrefix(item.key()) == item.key().size();
    makeValidUtf8(item.value());
  }
  if (sound) return;
  json::object valid;
  for (auto& item : object) valid[validUtf8(item.key())] = std::move(item.value());
  object = std::move(valid);
}

std::string_view cutUtf8(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

void shorten(json::value& value, std::size_t longest_string, std::size_t longest_array) {
  if (auto* text = value.if_string()) {
    if (text->size() <= longest_string) return;
    *text = std::string(cutUtf8(*text, longest_string)) + std::string(kEllipsis);
  } else if (auto* array = value.if_array()) {
    if (array->size() > longest_array) array->resize(longest_array);
    for (auto& item : *array) shorten(item, longest_string, longest_array);
  } else if (auto* object = value.if_object()) {
    for (auto& item : *object) shorten(item.value(), longest_string, longest_array);
  }
}

BoundedLine boundedLine(std::string_view line, std::size_t limit) {
  BoundedLine bounded{validUtf8(line)};
  if (printedSize(bounded.text) <= limit) return bounded;
  bounded.cut = true;
  auto value = base::parseJson(bounded.text);
  if (value && value->is_object()) {
    for (const std::size_t longest : {4096, 1024, 256, 64}) {
      shorten(*value, longest, longest / 16);
      std::string text = json::serialize(*value);
      if (printedSize(text) > limit) continue;
      bounded.text = std::move(text);
      return bounded;
    }
  }
  for (std::size_t size = limit; printedSize(bounded.text) > limit && size > 0; size /= 2)
    bounded.text = std::string(cutUtf8(bounded.text, size));
  return bounded;
}

}  // namespace warder::journal
