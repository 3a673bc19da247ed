#include "secrets/models/chunk_reader.h"

#include <array>

namespace warder::models {
namespace {

constexpr std::array<signed char, 256> makeAlphabet() {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<signed char, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < kLetters.size(); ++i)
    values[static_cast<unsigned char>(kLetters[i])] = static_cast<signed char>(i);
  return values;
}

constexpr auto kAlphabet = makeAlphabet();

}  // namespace

ChunkReader::ChunkReader(OnBytes on_bytes)
    : on_bytes_(std::move(on_bytes)), tokens_(*this, http::JsonTokens::Utf8::Any) {}

void ChunkReader::restart() {
  tokens_.restart();
  depth_ = 0;
  is_bytes_ = false;
  bits_ = 0;
  characters_ = 0;
}

void ChunkReader::onOpen(bool) {
  ++depth_;
  is_bytes_ = false;
}

void ChunkReader::onClose(bool) {
  --depth_;
}

void ChunkReader::onKey(std::string_view key, bool whole) {
  is_bytes_ = depth_ == 1 && whole && key == "bytes";
}

/// Padding and anything else that is no letter of base64 is passed over: what comes out is read by
/// a reader that judges for itself.
void ChunkReader::onTextPart(std::string_view piece) {
  if (!is_bytes_) return;
  std::array<char, 192> out;
  std::size_t size = 0;
  for (const char c : piece) {
    const int value = kAlphabet[static_cast<unsigned char>(c)];
    if (value < 0) continue;
    bits_ = bits_ << 6 | static_cast<std::uint32_t>(value);
    if (++characters_ < 2) continue;
    const unsigned spare = 6 - 2 * (characters_ - 1);
    out[size++] = static_cast<char>(bits_ >> spare & 0xff);
    if (characters_ == 4) characters_ = 0;
    if (size < out.size()) continue;
    on_bytes_({out.data(), size});
    size = 0;
  }
  if (size > 0) on_bytes_({out.data(), size});
}

void ChunkReader::onText(std::string_view, bool) {
  is_bytes_ = false;
}
void ChunkReader::onNumber(std::string_view, bool) {
  is_bytes_ = false;
}
void ChunkReader::onWord(http::JsonTokens::Word) {
  is_bytes_ = false;
}

}  // namespace warder::models
