// Picks single values out of JSON that streams by, in constant memory.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace warder::http {

/// A value at a path: a number that is a whole one and not negative, or a text (its first 1024
/// bytes).
struct JsonValue {
  std::optional<std::uint64_t> number;
  std::string_view text;
};

class JsonScan {
 public:
  /// `on_value` is called for texts and whole numbers at most four keys deep, with the keys joined
  /// by dots ("usage.output_tokens"); elements of arrays are not told.
  using OnValue = std::function<void(std::string_view path, const JsonValue& value)>;

  explicit JsonScan(OnValue on_value);
  JsonScan(const JsonScan&) = delete;
  JsonScan& operator=(const JsonScan&) = delete;
  ~JsonScan();

  /// Bytes that are no JSON (or nested over 256 deep) end the scan; later bytes are ignored.
  void feed(std::string_view bytes);
  /// Begins anew with the next document.
  void restart();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warder::http
