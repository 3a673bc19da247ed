#include "secrets/http/target.h"

#include <algorithm>

namespace warder::http {

namespace {

HeadFault bad(std::string sentence) {
  return HeadFault{400, std::move(sentence)};
}

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// -1: not two hexadecimal digits after the percent sign at `at`.
int decodedAt(std::string_view text, std::size_t at) {
  if (at + 2 >= text.size()) return -1;
  const int high = hexValue(text[at + 1]);
  const int low = hexValue(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool validEncodings(std::string_view text, bool in_path) {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    const int value = decodedAt(text, at);
    if (value < 0x20 || value == 0x7f) return false;
    if (in_path &&
        std::string_view("./\\%?#;").find(static_cast<char>(value)) != std::string_view::npos)
      return false;
  }
  return true;
}

bool validSegments(std::string_view path) {
  std::string_view rest = path.substr(1);
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    const bool is_last = slash == std::string_view::npos;
    if (segment == "." || segment == ".." || (segment.empty() && !is_last)) return false;
    if (is_last) return true;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace

HeadResult<Target> parseTarget(std::string_view target) {
  if (target.empty() || target.front() != '/')
    return bad("the request target must be a path that begins with a slash");
  for (const char byte : target) {
    const auto c = static_cast<unsigned char>(byte);
    if (c <= 0x20 || c >= 0x7f)
      return bad("the request target holds a character that is not allowed");
  }
  if (target.find('#') != std::string_view::npos) return bad("the request target has a fragment");
  const std::size_t mark = std::min(target.find('?'), target.size());
  Target result{std::string(target.substr(0, mark)), std::string(target.substr(mark))};
  if (result.path.find('\\') != std::string::npos || !validSegments(result.path) ||
      !validEncodings(result.path, true))
    return bad("the path is not in its plain spelling");
  if (!validEncodings(result.query, false))
    return bad("the query holds an encoding that is not valid");
  return result;
}

}  // namespace warder::http
