// The token of a collector: in one wiped place, never printed.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/fd.h"

namespace warder::courier {

/// Text that is wiped when it goes. Moves; never copies; has no way to a stream or a log.
class WipedText {
 public:
  /// `capacity` is final, so that no growth leaves a copy behind.
  explicit WipedText(std::size_t capacity) { text_.reserve(capacity + 1); }
  WipedText(WipedText&& other) noexcept : text_(std::move(other.text_)) {}
  WipedText& operator=(WipedText&&) = delete;
  WipedText(const WipedText&) = delete;
  WipedText& operator=(const WipedText&) = delete;
  ~WipedText();

  void append(std::string_view bytes);
  std::string_view view() const { return text_; }

 private:
  std::string text_;
};

/// Reads a token (one line of 1 to 4096 printable ASCII characters) to the end of `fd`, which is
/// closed. Errors: Config, Kernel; never with a part of the token.
base::Result<WipedText> readToken(base::UniqueFd fd);

}  // namespace warder::courier
