// Bedrock's chunk: a JSON object whose "bytes" is an event of the model's own dialect in base64.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include "secrets/http/json_tokens.h"

namespace warder::models {

/// Decodes it as it streams by, in constant memory.
class ChunkReader final : public http::JsonTokens::Sink {
 public:
  using OnBytes = std::function<void(std::string_view bytes)>;

  explicit ChunkReader(OnBytes on_bytes);
  void feed(std::string_view bytes) { tokens_.feed(bytes); }
  void restart();

 private:
  void onOpen(bool array) override;
  void onClose(bool array) override;
  void onKey(std::string_view key, bool whole) override;
  void onText(std::string_view text, bool whole) override;
  void onTextPart(std::string_view piece) override;
  void onNumber(std::string_view digits, bool whole) override;
  void onWord(http::JsonTokens::Word word) override;

  OnBytes on_bytes_;
  http::JsonTokens tokens_;
  std::size_t depth_ = 0;
  bool is_bytes_ = false;    // the value that comes next
  std::uint32_t bits_ = 0;   // of the group that is read
  unsigned characters_ = 0;  // of it
};

}  // namespace warder::models
