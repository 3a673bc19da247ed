#include "supervisor/base/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace warder::base {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isNumeral(char c) {
  return isDigit(c) || c == '_';
}
bool isHex(char c) {
  return isNumeral(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

template <class Accept>
std::size_t countWhile(std::string_view text, Accept accept) {
  std::size_t count = 0;
  while (count < text.size() && accept(text[count])) ++count;
  return count;
}

template <std::size_t N>
bool isOneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string_view withoutSign(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  return text;
}

/// 0x1F, 0b11, 0o17.
bool isPrefixedInteger(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return false;
  const std::string_view digits = text.substr(2);
  if (text[1] == 'x') return countWhile(digits, isHex) == digits.size();
  if (text[1] == 'b' || text[1] == 'o') return countWhile(digits, isNumeral) == digits.size();
  return false;
}

/// 1, 007, 1_000, 1.10, .5, 1e3, 1.5E-3.
bool isDecimalNumber(std::string_view text) {
  const std::size_t whole = countWhile(text, isNumeral);
  if (whole > 0 && text[0] == '_') return false;
  text.remove_prefix(whole);
  std::size_t fraction = 0;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    fraction = countWhile(text, isNumeral);
    text.remove_prefix(fraction);
  }
  if (whole == 0 && fraction == 0) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text = withoutSign(text.substr(1));
  return !text.empty() && countWhile(text, isDigit) == text.size();
}

/// 12:30, 22:22:22.5; each group after the first is 0 to 59.
bool isBase60(std::string_view text) {
  const std::size_t first = countWhile(text, isNumeral);
  if (first == 0 || text[0] == '_') return false;
  text.remove_prefix(first);
  std::size_t groups = 0;
  while (!text.empty() && text[0] == ':') {
    text.remove_prefix(1);
    const std::size_t digits = countWhile(text, isDigit);
    if (digits == 0 || digits > 2 || (digits == 2 && text[0] > '5')) return false;
    text.remove_prefix(digits);
    ++groups;
  }
  if (groups == 0) return false;
  if (text.empty()) return true;
  return text[0] == '.' && countWhile(text.substr(1), isNumeral) == text.size() - 1;
}

/// 2001-12-14, 2001-12-14T21:59:43Z.
bool isDate(std::string_view text) {
  if (countWhile(text, isDigit) != 4) return false;
  text.remove_prefix(4);
  for (int part = 0; part < 2; ++part) {
    if (text.empty() || text[0] != '-') return false;
    text.remove_prefix(1);
    const std::size_t digits = countWhile(text, isDigit);
    if (digits == 0 || digits > 2) return false;
    text.remove_prefix(digits);
  }
  if (text.empty()) return true;
  return (text[0] == 'T' || text[0] == 't' || text[0] == ' ') && text.size() > 1 &&
         isDigit(text[1]);
}

}  // namespace

std::string_view otherReading(std::string_view plain) {
  constexpr std::array<std::string_view, 22> kBooleans{
      "y",  "Y",  "yes", "Yes", "YES", "n",    "N",    "no",    "No",    "NO",    "true",
      "on", "On", "ON",  "off", "Off", "True", "TRUE", "false", "False", "FALSE", "OFF"};
  constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 6> kFloats{".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};
  if (isOneOf(plain, kBooleans)) return "a boolean";
  if (isOneOf(plain, kNulls)) return "null";
  if (plain == "=" || plain == "<<") return "a special key";
  const std::string_view number = withoutSign(plain);
  if (isOneOf(number, kFloats) || isPrefixedInteger(number) || isDecimalNumber(number)) {
    return "a number";
  }
  if (isBase60(number)) return "a base-60 number";
  if (isDate(plain)) return "a date";
  return {};
}

bool isPlainDecimal(std::string_view text) {
  if (text.empty() || text.size() > 18) return false;
  if (text.size() > 1 && text.front() == '0') return false;
  return countWhile(text, isDigit) == text.size();
}

}  // namespace warder::base
