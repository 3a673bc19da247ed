#include "secrets/vault/key_forms.h"

#include <algorithm>
#include <cstring>

namespace warder::vault {

namespace {

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool spells(const char* digits, char wanted) {
  const int high = hexValue(digits[0]);
  const int low = hexValue(digits[1]);
  return high >= 0 && low >= 0 && high * 16 + low == static_cast<unsigned char>(wanted);
}

/// The length of the spelling of `wanted` at `at`; 0 when something else stands there.
std::size_t formAt(const char* at, const char* end, char wanted) {
  const auto left = static_cast<std::size_t>(end - at);
  if (left == 0) return 0;
  if (*at == '\\') {
    if (left >= 6 && std::memcmp(at, "\\u00", 4) == 0 && spells(at + 4, wanted)) return 6;
    const bool escaped = wanted == '\\' || wanted == '"' || wanted == '/';
    return left >= 2 && escaped && at[1] == wanted ? 2 : 0;
  }
  if (*at == '%' && left >= 3 && spells(at + 1, wanted)) return 3;
  return *at == wanted ? 1 : 0;
}

/// The length of the whole secret at `at`; 0 when it does not stand there.
std::size_t keyAt(const char* at, const char* end, std::string_view secret) {
  const auto left = static_cast<std::size_t>(end - at);
  // First as it is: a backslash of the secret's own would be taken for an escape.
  if (left >= secret.size() && std::memcmp(at, secret.data(), secret.size()) == 0)
    return secret.size();
  const char* from = at;
  for (const char wanted : secret) {
    const std::size_t form = formAt(at, end, wanted);
    if (form == 0) return 0;
    at += form;
  }
  return static_cast<std::size_t>(at - from);
}

void putHex(char* at, char value) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(value);
  at[0] = kDigits[byte / 16];
  at[1] = kDigits[byte % 16];
}

void replaceAt(char* at, const char* end, std::string_view secret, std::string_view replacement) {
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const std::size_t form = formAt(at, end, secret[i]);
    if (form == 1) *at = replacement[i];
    if (form == 3) putHex(at + 1, replacement[i]);
    if (form == 6) putHex(at + 4, replacement[i]);
    at += form;
  }
}

}  // namespace

std::size_t replaceKey(std::string_view secret, std::string_view replacement,
                       std::span<char> text) {
  std::size_t hits = 0;
  if (secret.empty()) return hits;
  char* at = text.data();
  const char* const end = at + text.size();
  const char first = secret.front();
  while (at < end) {
    const bool candidate = *at == first || *at == '\\' || *at == '%';
    const std::size_t length = candidate ? keyAt(at, end, secret) : 0;
    if (length == 0) {
      ++at;
      continue;
    }
    if (length == secret.size())
      std::copy(replacement.begin(), replacement.end(), at);
    else
      replaceAt(at, end, secret, replacement);
    at += length;
    ++hits;
  }
  return hits;
}

std::string replacementOf(std::string_view placeholder, std::size_t length) {
  std::string text(placeholder.substr(0, length));
  text.resize(length, '*');
  return text;
}

}  // namespace warder::vault
