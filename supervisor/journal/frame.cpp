#include "supervisor/journal/frame.h"

#include <array>
#include <optional>

namespace warder::journal {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli, reflected

constexpr std::array<std::uint32_t, 256> crcTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) ? (value >> 1) ^ kPolynomial : value >> 1;
    table[i] = value;
  }
  return table;
}
constexpr auto kCrcTable = crcTable();

void putU32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t getU32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// The payload of a sound frame at the start of `bytes`.
std::optional<std::string_view> frameAt(std::string_view bytes) {
  if (bytes.size() < kFrameHeader || getU32(bytes) != kFrameMagic) return std::nullopt;
  const std::uint32_t length = getU32(bytes.substr(4));
  if (length == 0 || length > kMaxPayload || bytes.size() - kFrameHeader < length)
    return std::nullopt;
  const std::string_view payload = bytes.substr(kFrameHeader, length);
  const std::uint32_t crc = crc32c(payload, crc32c(bytes.substr(4, 4)));
  if (crc != getU32(bytes.substr(8))) return std::nullopt;
  return payload;
}

/// Where the next sound frame starts at or after `from`; npos if there is none.
std::size_t nextFrame(std::string_view bytes, std::size_t from) {
  std::string magic;
  putU32(magic, kFrameMagic);
  for (auto at = bytes.find(magic, from); at != std::string_view::npos;
       at = bytes.find(magic, at + 1))
    if (frameAt(bytes.substr(at))) return at;
  return std::string_view::npos;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
  std::uint32_t value = ~seed;
  for (const char c : bytes)
    value = kCrcTable[(value ^ static_cast<unsigned char>(c)) & 0xff] ^ (value >> 8);
  return ~value;
}

base::Result<std::string> encodeFrame(std::string_view payload) {
  if (payload.empty() || payload.size() > kMaxPayload)
    return base::Error{base::Kind::Internal,
                       "a journal line must have 1 to " + std::to_string(kMaxPayload) + " bytes"};
  std::string length;
  putU32(length, static_cast<std::uint32_t>(payload.size()));
  std::string frame;
  frame.reserve(kFrameHeader + payload.size());
  putU32(frame, kFrameMagic);
  frame += length;
  putU32(frame, crc32c(payload, crc32c(length)));
  frame += payload;
  return frame;
}

Scan scanFrames(std::string_view bytes, std::size_t limit) {
  Scan scan;
  while (scan.sound_end < bytes.size() && scan.frames.size() < limit) {
    std::size_t at = scan.sound_end;
    auto payload = frameAt(bytes.substr(at));
    if (!payload) {
      at = nextFrame(bytes, at + 1);
      if (at == std::string_view::npos) {
        scan.torn = bytes.size() - scan.sound_end;
        return scan;
      }
      scan.damage.push_back({scan.sound_end, at - scan.sound_end});
      payload = frameAt(bytes.substr(at));
    }
    scan.frames.push_back({at, *payload});
    scan.sound_end = at + kFrameHeader + payload->size();
  }
  return scan;
}

}  // namespace warder::journal
