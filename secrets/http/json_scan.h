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
  /// `on_value` is called for texts and whole numbers at most five keys and arrays deep, with the
  /// keys joined by dots and "[]" for the elements of an array ("usage.output_tokens",
  /// "choices[].finish_reason", "[].error.code"). What lies under a key that holds a dot or a
  /// bracket itself, or is longer than 128 bytes, is not told.
  using OnValue = std::function<void(std::string_view path, const JsonValue& value)>;

  explicit JsonScan(OnValue on_value);
  JsonScan(const JsonScan&) = delete;
  JsonScan& operator=(const JsonScan&) = delete;
  ~JsonScan();

  /// Bytes that are no JSON (or nested over 256 deep) end the scan; later bytes are ignored. What
  /// is no UTF-8 is let by: this looks and does not judge.
  void feed(std::string_view bytes);
  /// Begins anew with the next document.
  void restart();

  /// A whole document was read.
  bool done() const;
  /// Something that is no JSON was read instead.
  bool failed() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace warder::http
