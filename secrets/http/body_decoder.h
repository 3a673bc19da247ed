// Finds the end of a body and takes the framing off, piece by piece and strictly.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "secrets/http/head.h"

namespace warder::http {

inline constexpr std::size_t kMaxChunkLine = 256;
inline constexpr std::size_t kMaxTrailerBytes = 8'192;

class BodyDecoder {
 public:
  explicit BodyDecoder(Framing framing);

  struct Step {
    std::size_t consumed = 0;  // bytes of the input that are done with
    std::string_view data;     // content, a part of the input
  };
  /// Takes the next piece from the front of `input`; call again with the rest until nothing is
  /// consumed. Chunk extensions and trailers are dropped.
  Step step(std::string_view input);
  /// The stream ended: completes a body that lasts until close. False when the body was cut.
  bool endOfStream();

  bool complete() const { return state_ == State::Complete; }
  bool bad() const { return state_ == State::Bad; }
  const std::string& fault() const { return fault_; }

 private:
  enum class State { Content, SizeLine, ContentEnd, Trailers, Complete, Bad };

  Step lineStep(std::string_view input);
  void sizeLine();
  void trailerLine();
  void fail(std::string sentence);

  Framing framing_;
  State state_;
  std::uint64_t left_ = 0;  // content bytes of this length or chunk
  std::string line_;
  std::size_t trailer_bytes_ = 0;
  std::string fault_;
};

}  // namespace warder::http
