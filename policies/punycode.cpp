#include "policies/punycode.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace warder::policies {
namespace {

// RFC 3492 section 5.
constexpr std::uint32_t kBase = 36;
constexpr std::uint32_t kLeast = 1;
constexpr std::uint32_t kMost = 26;
constexpr std::uint32_t kSkew = 38;
constexpr std::uint32_t kDamp = 700;
constexpr std::uint32_t kFirstBias = 72;
constexpr std::uint32_t kFirstCode = 128;
constexpr std::size_t kLongestInput = 253;  // characters; keeps every sum below 2^32

using Codes = std::u32string;

/// UTF-8, strictly: no overlong forms, no surrogates.
std::optional<Codes> decoded(std::string_view text) {
  Codes codes;
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                                            : 4;
    if (size == 0 || first > 0xF4 || size > text.size()) return std::nullopt;
    char32_t code = size == 1 ? first : first & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if ((byte & 0xC0) != 0x80) return std::nullopt;
      code = code << 6 | (byte & 0x3FU);
    }
    const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
    if (overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return std::nullopt;
    codes += code;
    text.remove_prefix(size);
  }
  return codes;
}

char32_t madeSmall(char32_t code) {
  if (code >= U'A' && code <= U'Z') return code + 32;
  if (code >= 0xC0 && code <= 0xDE && code != 0xD7) return code + 32;  // Latin-1
  if (code >= 0x391 && code <= 0x3A9) return code + 32;                // Greek
  if (code >= 0x410 && code <= 0x42F) return code + 32;                // Cyrillic
  if (code >= 0x400 && code <= 0x40F) return code + 80;
  return code;
}

std::uint32_t adapted(std::uint32_t delta, std::uint32_t count, bool first) {
  delta /= first ? kDamp : 2;
  delta += delta / count;
  std::uint32_t k = 0;
  for (; delta > (kBase - kLeast) * kMost / 2; k += kBase) delta /= kBase - kLeast;
  return k + (kBase - kLeast + 1) * delta / (delta + kSkew);
}

char digit(std::uint32_t value) {
  return static_cast<char>(value < 26 ? 'a' + value : '0' + (value - 26));
}

void addNumber(std::string& label, std::uint32_t number, std::uint32_t bias) {
  for (std::uint32_t k = kBase;; k += kBase) {
    const std::uint32_t threshold =
        k <= bias ? kLeast : std::min<std::uint32_t>(std::max(k - bias, kLeast), kMost);
    if (number < threshold) break;
    label += digit(threshold + (number - threshold) % (kBase - threshold));
    number = (number - threshold) / (kBase - threshold);
  }
  label += digit(number);
}

/// RFC 3492 section 6.3.
std::string encoded(const Codes& codes) {
  std::string label;
  for (const char32_t code : codes) {
    if (code < kFirstCode) label += static_cast<char>(code);
  }
  const auto basic = static_cast<std::uint32_t>(label.size());
  if (basic == codes.size()) return label;
  if (basic > 0) label += '-';
  std::uint32_t least = kFirstCode;
  std::uint32_t delta = 0;
  std::uint32_t bias = kFirstBias;
  for (std::uint32_t done = basic; done < codes.size();) {
    char32_t next = std::numeric_limits<char32_t>::max();
    for (const char32_t code : codes) {
      if (code >= least) next = std::min(next, code);
    }
    delta += (next - least) * (done + 1);
    least = next;
    for (const char32_t code : codes) {
      if (code < least) ++delta;
      if (code != least) continue;
      addNumber(label, delta, bias);
      bias = adapted(delta, done + 1, done == basic);
      delta = 0;
      ++done;
    }
    ++delta;
    ++least;
  }
  return "xn--" + label;
}

}  // namespace

std::string punycodeName(std::string_view name) {
  auto codes = decoded(name);
  if (!codes || codes->size() > kLongestInput) return {};
  std::transform(codes->begin(), codes->end(), codes->begin(), madeSmall);
  const bool marked = std::any_of(codes->begin(), codes->end(), [](char32_t code) {
    const bool dot = code == 0x3002 || code == 0xFF0E || code == 0xFF61;  // are read as full stops
    const bool wide = code >= 0xFF00 && code <= 0xFFEF;
    return dot || wide || (code >= 0x80 && code < 0xA1) || (code >= 0x300 && code <= 0x36F);
  });
  if (marked) return {};
  std::string written;
  for (std::size_t at = 0; at <= codes->size();) {
    const std::size_t dot = std::min(codes->find(U'.', at), codes->size());
    if (at > 0) written += '.';
    written += encoded(codes->substr(at, dot - at));
    at = dot + 1;
  }
  return written;
}

}  // namespace warder::policies
