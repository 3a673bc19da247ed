#include "secrets/models/event_stream.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace warder::models {
namespace {

constexpr std::size_t kPreludeBytes = 12;
constexpr std::size_t kChecksumBytes = 4;

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

/// Eight tables: eight bytes are taken at a time.
constexpr Table makeTables() {
  Table tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320U : value >> 1;
    tables[0][i] = value;
  }
  for (std::size_t slice = 1; slice < 8; ++slice)
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t before = tables[slice - 1][i];
      tables[slice][i] = before >> 8 ^ tables[0][before & 0xff];
    }
  return tables;
}

constexpr Table kTables = makeTables();

std::uint32_t littleEndian(const unsigned char* at) {
  return at[0] | static_cast<std::uint32_t>(at[1]) << 8 | static_cast<std::uint32_t>(at[2]) << 16 |
         static_cast<std::uint32_t>(at[3]) << 24;
}

std::uint32_t bigEndian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Bytes of a header's value by its type; -1: two bytes say how many; -2: there is no such type.
int sizeOfValue(unsigned char type) {
  constexpr std::array<int, 10> kSizes = {0, 0, 1, 2, 4, 8, -1, -1, 8, 16};
  return type < kSizes.size() ? kSizes[type] : -2;
}

constexpr unsigned char kTextValue = 7;

}  // namespace

std::uint32_t checksumOf(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint32_t low = crc ^ littleEndian(at);
    const std::uint32_t high = littleEndian(at + 4);
    crc = kTables[7][low & 0xff] ^ kTables[6][low >> 8 & 0xff] ^ kTables[5][low >> 16 & 0xff] ^
          kTables[4][low >> 24] ^ kTables[3][high & 0xff] ^ kTables[2][high >> 8 & 0xff] ^
          kTables[1][high >> 16 & 0xff] ^ kTables[0][high >> 24];
  }
  for (; left > 0; --left, ++at) crc = crc >> 8 ^ kTables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

std::string_view EventStreamReader::take(std::string_view& bytes, std::size_t size) {
  const std::string_view taken = bytes.substr(0, size);
  bytes.remove_prefix(taken.size());
  return taken;
}

/// True when `size` bytes are together.
bool EventStreamReader::hold(std::string_view& bytes, std::size_t size) {
  held_ += take(bytes, size - held_.size());
  return held_.size() == size;
}

void EventStreamReader::feed(std::string_view bytes) {
  // Also once with nothing left: headers and payload may be empty.
  for (bool going = !bytes.empty(); going;) {
    const State before = state_;
    const std::size_t size = bytes.size();
    switch (state_) {
      case State::Prelude:
        if (hold(bytes, kPreludeBytes)) readPrelude();
        break;
      case State::Headers:
        if (hold(bytes, headers_)) readHeaders();
        break;
      case State::Payload: {
        const std::string_view piece = take(bytes, payload_left_);
        payload_left_ -= static_cast<std::uint32_t>(piece.size());
        checksum_ = checksumOf(piece, checksum_);
        if (!piece.empty()) sink_.onPayload(piece);
        if (payload_left_ == 0) state_ = State::Checksum;
        break;
      }
      case State::Checksum:
        if (hold(bytes, kChecksumBytes)) readChecksum();
        break;
      case State::Failed:
        return;
    }
    going = state_ != before || bytes.size() != size;
  }
}

void EventStreamReader::readPrelude() {
  const std::string_view prelude = held_;
  const std::uint32_t total = bigEndian(prelude);
  headers_ = bigEndian(prelude.substr(4));
  const bool sound = checksumOf(prelude.substr(0, 8)) == bigEndian(prelude.substr(8)) &&
                     total <= kMaxEventMessage && headers_ <= kMaxEventHeaders &&
                     total >= kPreludeBytes + kChecksumBytes + headers_;
  if (!sound) {
    state_ = State::Failed;
    return;
  }
  checksum_ = checksumOf(prelude);
  payload_left_ = total - headers_ - static_cast<std::uint32_t>(kPreludeBytes + kChecksumBytes);
  held_.clear();
  state_ = State::Headers;
  sink_.onMessageBegin();
}

void EventStreamReader::readHeaders() {
  checksum_ = checksumOf(held_, checksum_);
  state_ = State::Payload;
  for (std::string_view rest = held_; !rest.empty();) {
    if (readHeader(rest)) continue;
    state_ = State::Failed;
    break;
  }
  held_.clear();
}

/// Length and text of the name, type of the value, perhaps its length, the value.
bool EventStreamReader::readHeader(std::string_view& rest) {
  const std::size_t name_size = static_cast<unsigned char>(rest.front());
  rest.remove_prefix(1);
  if (name_size == 0 || rest.size() < name_size + 1) return false;
  const std::string_view name = take(rest, name_size);
  const auto type = static_cast<unsigned char>(rest.front());
  rest.remove_prefix(1);
  int size = sizeOfValue(type);
  if (size == -2) return false;
  if (size == -1) {
    if (rest.size() < 2) return false;
    size = static_cast<unsigned char>(rest[0]) << 8 | static_cast<unsigned char>(rest[1]);
    rest.remove_prefix(2);
  }
  const auto value_size = static_cast<std::size_t>(size);
  if (rest.size() < value_size) return false;
  const std::string_view value = take(rest, value_size);
  if (type == kTextValue) sink_.onHeader(name, value);
  return true;
}

void EventStreamReader::readChecksum() {
  const bool sound = bigEndian(held_) == checksum_;
  held_.clear();
  state_ = sound ? State::Prelude : State::Failed;
  sink_.onMessageEnd(sound);
}

}  // namespace warder::models
