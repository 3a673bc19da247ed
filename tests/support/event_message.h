// Messages of AWS's event stream for tests.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "secrets/models/event_stream.h"

namespace warder::support {

inline std::string bigEndian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

inline std::string eventPrelude(std::uint32_t total, std::uint32_t headers) {
  const std::string sizes = bigEndian(total, 4) + bigEndian(headers, 4);
  return sizes + bigEndian(models::checksumOf(sizes), 4);
}

inline std::string eventMessageOf(std::string_view headers, std::string_view payload) {
  std::string message =
      eventPrelude(static_cast<std::uint32_t>(16 + headers.size() + payload.size()),
                   static_cast<std::uint32_t>(headers.size()));
  message += headers;
  message += payload;
  return message + bigEndian(models::checksumOf(message), 4);
}

/// Headers whose values are texts.
inline std::string eventMessage(const std::vector<std::pair<std::string, std::string>>& headers,
                                std::string_view payload) {
  std::string bytes;
  for (const auto& [name, value] : headers)
    bytes += static_cast<char>(name.size()) + name + '\7' +
             bigEndian(static_cast<std::uint32_t>(value.size()), 2) + value;
  return eventMessageOf(bytes, payload);
}

inline std::string base64Of(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += at + i <= bytes.size() ? kLetters[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace warder::support
