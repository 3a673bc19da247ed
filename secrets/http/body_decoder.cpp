#include "secrets/http/body_decoder.h"

#include <algorithm>

namespace warder::http {

BodyDecoder::BodyDecoder(Framing framing) : framing_(framing) {
  switch (framing.kind) {
    case Framing::Kind::None:
      state_ = State::Complete;
      break;
    case Framing::Kind::Length:
      left_ = framing.length;
      state_ = left_ == 0 ? State::Complete : State::Content;
      break;
    case Framing::Kind::Chunked:
      state_ = State::SizeLine;
      break;
    case Framing::Kind::UntilClose:
      state_ = State::Content;
      break;
  }
}

BodyDecoder::Step BodyDecoder::step(std::string_view input) {
  if (state_ == State::Complete || state_ == State::Bad || input.empty()) return {};
  if (state_ != State::Content) return lineStep(input);
  if (framing_.kind == Framing::Kind::UntilClose) return {input.size(), input};
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
  left_ -= count;
  if (left_ == 0)
    state_ = framing_.kind == Framing::Kind::Chunked ? State::ContentEnd : State::Complete;
  return {count, input.substr(0, count)};
}

bool BodyDecoder::endOfStream() {
  if (state_ == State::Content && framing_.kind == Framing::Kind::UntilClose)
    state_ = State::Complete;
  return complete();
}

/// Collects one line of framing; every byte is looked at, so that a bare CR or LF cannot hide.
BodyDecoder::Step BodyDecoder::lineStep(std::string_view input) {
  std::size_t used = 0;
  while (used < input.size()) {
    const char byte = input[used++];
    const bool after_return = !line_.empty() && line_.back() == '\r';
    if ((byte == '\n') != after_return) {
      fail("a line of the chunked body does not end with carriage return and line feed");
      return {used, {}};
    }
    if (byte != '\n') {
      const auto c = static_cast<unsigned char>(byte);
      const std::size_t most = state_ == State::Trailers ? kMaxTrailerBytes : kMaxChunkLine;
      if (line_.size() >= most || (c < 0x20 && byte != '\r' && byte != '\t') || c == 0x7f) {
        fail("a line of the chunked body is not valid");
        return {used, {}};
      }
      line_.push_back(byte);
      continue;
    }
    line_.pop_back();
    if (state_ == State::Trailers) {
      trailerLine();
    } else if (state_ == State::SizeLine) {
      sizeLine();
    } else if (line_.empty()) {
      state_ = State::SizeLine;
    } else {
      fail("a chunk is longer than it says");
    }
    line_.clear();
    return {used, {}};
  }
  return {used, {}};
}

void BodyDecoder::sizeLine() {
  const std::string_view line = line_;
  const std::string_view digits = line.substr(0, line.find(';'));
  std::uint64_t size = 0;
  bool valid = !digits.empty() && digits.size() <= 15;
  for (const char c : digits) {
    const int value = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    valid = valid && value >= 0;
    size = size * 16 + static_cast<std::uint64_t>(std::max(value, 0));
  }
  if (!valid) return fail("a chunk size is no plain hexadecimal number");
  left_ = size;
  state_ = size == 0 ? State::Trailers : State::Content;
}

void BodyDecoder::trailerLine() {
  if (line_.empty()) {
    state_ = State::Complete;
    return;
  }
  trailer_bytes_ += line_.size() + 2;
  if (trailer_bytes_ > kMaxTrailerBytes) fail("the trailers are longer than 8192 bytes");
}

void BodyDecoder::fail(std::string sentence) {
  state_ = State::Bad;
  fault_ = std::move(sentence);
}

}  // namespace warder::http
