#include "secrets/vault/hidden_forms.h"

#include <algorithm>
#include <cstring>

#include "secrets/vault/key_forms.h"

namespace warder::vault {

using base::Error;
using base::Kind;
using base::Result;

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The other character that the url alphabet of base64 has for this one; itself for all others.
char otherOf(char c, bool is_base64) {
  if (!is_base64) return c;
  return c == '+' ? '-' : c == '/' ? '_' : c;
}

bool isOne(char c, char wanted, bool is_base64) {
  return c == wanted || c == otherOf(wanted, is_base64);
}

bool spells(const char* digits, char wanted, bool is_base64) {
  const int high = hexValue(digits[0]);
  const int low = hexValue(digits[1]);
  return high >= 0 && low >= 0 && isOne(static_cast<char>(high * 16 + low), wanted, is_base64);
}

/// Which characters JSON may write with a backslash before them.
bool isEscaped(char c) {
  return c == '\\' || c == '"' || c == '/';
}

/// The length of the spelling of `wanted` at `at`; 0 when something else stands there.
std::size_t formAt(std::string_view text, char wanted, bool is_base64) {
  if (text.empty()) return 0;
  const char* at = text.data();
  if (*at == '\\') {
    if (text.size() >= 6 && std::memcmp(at, "\\u00", 4) == 0 && spells(at + 4, wanted, is_base64))
      return 6;
    return text.size() >= 2 && isEscaped(wanted) && at[1] == wanted ? 2 : 0;
  }
  if (*at == '%' && text.size() >= 3 && spells(at + 1, wanted, is_base64)) return 3;
  return isOne(*at, wanted, is_base64) ? 1 : 0;
}

/// A quick look at the first four bytes, which sends most candidates away. Both have as many.
bool mayBegin(std::string_view text, std::string_view needle, bool is_base64) {
  if (text.size() < needle.size()) return false;
  for (std::size_t i = 0; i < 4; ++i) {
    if (text[i] == '\\' || text[i] == '%') return true;
    if (!isOne(text[i], needle[i], is_base64)) return false;
  }
  return true;
}

/// The length of the whole needle at the beginning of `text`; 0 when it does not stand there.
std::size_t needleAt(std::string_view text, std::string_view needle, bool is_base64) {
  // First as it is: a backslash of the secret's own would be taken for an escape.
  if (text.starts_with(needle)) return needle.size();
  std::size_t length = 0;
  for (const char wanted : needle) {
    const std::size_t form = formAt(text.substr(length), wanted, is_base64);
    if (form == 0) return 0;
    length += form;
  }
  return length;
}

void putHex(char* at, char value) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(value);
  at[0] = kDigits[byte / 16];
  at[1] = kDigits[byte % 16];
}

struct Spelled {
  std::string_view needle;
  std::string_view replacement;
  bool is_base64;
};

void replaceAt(std::span<char> text, const Spelled& what) {
  if (text.size() == what.needle.size()) {
    std::copy(what.replacement.begin(), what.replacement.end(), text.begin());
    return;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < what.needle.size(); ++i) {
    const std::string_view rest{text.data() + at, text.size() - at};
    const std::size_t form = formAt(rest, what.needle[i], what.is_base64);
    if (form == 1) text[at] = what.replacement[i];
    if (form == 3) putHex(&text[at + 1], what.replacement[i]);
    if (form == 6) putHex(&text[at + 4], what.replacement[i]);
    at += form;
  }
}

/// Writes what the base64 of `bytes` certainly holds when `before` bytes stand in front of it, and
/// says how long it is. `to` has room for 4/3 of it.
std::size_t putBase64(std::string_view bytes, std::size_t before, char* to) {
  std::size_t length = 0;
  unsigned bits = 0;
  int held = 0;
  // The bits of its first bytes that share a character with what stands before.
  int shared = static_cast<int>((6 - before * 8 % 6) % 6);
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    held += 8;
    if (shared > 0) held -= std::exchange(shared, 0);
    for (; held >= 6; held -= 6) to[length++] = kBase64[bits >> (held - 6) & 63];
  }
  return length;
}

}  // namespace

HiddenForms::HiddenForms(LockedPages pages) : pages_(std::move(pages)), pairs_(65'536 / 64, 0) {}

Result<HiddenForms> HiddenForms::make(std::span<const std::string_view> hidden,
                                      std::string_view placeholder) {
  std::size_t room = 0;
  for (const std::string_view secret : hidden) {
    if (secret.size() < kMinSecretBytes)
      return Error{Kind::Internal, "a secret to hide is shorter than 8 bytes"};
    room += 3 * (secret.size() * 4 / 3 + 4);
  }
  auto pages = LockedPages::make(std::max<std::size_t>(room, 1));
  if (!pages) return pages.error();
  HiddenForms forms(std::move(*pages));
  char* to = forms.pages_.data();
  for (const std::string_view secret : hidden) {
    forms.add({secret, replacementOf(placeholder, secret.size()), false});
    for (const std::size_t before : {0U, 1U, 2U}) {
      const std::size_t length = putBase64(secret, before, to);
      forms.add({{to, length}, std::string(length, 'x'), true});
      to += length;
    }
  }
  std::stable_sort(forms.needles_.begin(), forms.needles_.end(),
                   [](const Needle& a, const Needle& b) { return a.text.size() > b.text.size(); });
  if (!forms.needles_.empty())
    forms.window_ = forms.needles_.front().text.size() * kLongestForm - 1;
  return forms;
}

void HiddenForms::mark(unsigned char first, unsigned char second) {
  std::uint16_t pair = 0;
  const unsigned char bytes[2] = {first, second};
  std::memcpy(&pair, bytes, sizeof pair);
  pairs_[pair / 64] |= std::uint64_t{1} << (pair % 64);
}

/// Marks the pairs of bytes by which some spelling of the needle begins.
void HiddenForms::add(Needle needle) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  const char second = needle.text[1];
  for (const char first : {needle.text[0], otherOf(needle.text[0], needle.is_base64)}) {
    for (const char after : {second, otherOf(second, needle.is_base64), '\\', '%'})
      mark(byte(first), byte(after));
    if (isEscaped(first)) mark('\\', byte(first));
    mark('\\', 'u');
    mark('%', byte(kDigits[byte(first) / 16]));
  }
  needles_.push_back(std::move(needle));
}

/// Most of the time of a transfer is spent here: one look into a table for each byte, eight at a
/// time. All bytes of the range have one behind them.
std::size_t HiddenForms::nextCandidate(std::span<const char> text, Range range) const {
  const char* const data = text.data();
  const std::uint64_t* const pairs = pairs_.data();
  const auto marked = [data, pairs](std::size_t at) {
    std::uint16_t pair = 0;
    std::memcpy(&pair, data + at, sizeof pair);
    return pairs[pair / 64] >> (pair % 64) & 1;
  };
  std::size_t at = range.from;
  for (; at + 8 <= range.to; at += 8) {
    const auto low = marked(at) | marked(at + 1) | marked(at + 2) | marked(at + 3);
    const auto high = marked(at + 4) | marked(at + 5) | marked(at + 6) | marked(at + 7);
    if ((low | high) != 0) break;
  }
  while (at < range.to && marked(at) == 0) ++at;
  return at;
}

HiddenForms::Replaced HiddenForms::replace(std::span<char> text, Range range) const {
  Replaced result{range.to, 0};
  const std::size_t last = std::min(range.to, text.size() - std::min<std::size_t>(1, text.size()));
  std::size_t at = range.from;
  while ((at = nextCandidate(text, {at, last})) < last) {
    const std::string_view rest{text.data() + at, text.size() - at};
    std::size_t length = 0;
    for (const Needle& needle : needles_) {
      if (!mayBegin(rest, needle.text, needle.is_base64)) continue;
      length = needleAt(rest, needle.text, needle.is_base64);
      if (length == 0) continue;
      replaceAt(text.subspan(at, length), {needle.text, needle.replacement, needle.is_base64});
      ++result.hits;
      break;
    }
    at += std::max<std::size_t>(length, 1);
  }
  result.decided = std::max(result.decided, at);
  return result;
}

}  // namespace warder::vault
