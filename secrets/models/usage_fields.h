// Where the answers of each dialect say what a call used.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "secrets/models/dialect.h"
#include "secrets/models/provider.h"

namespace warder::models {

/// Numbers as a provider tells them; what they mean together differs by dialect.
enum class Count : std::uint8_t {
  Input,
  Output,
  CacheRead,
  CacheWrite,
  CacheWriteHour,
  Thoughts,    // output beside Output
  ToolPrompt,  // input beside Input
};

class UsageCounts {
 public:
  /// The larger one stays: numbers of a stream are cumulative. What no call can have used is not
  /// believed.
  void raise(Count count, std::uint64_t value);
  bool told() const { return told_; }
  Usage usageIn(Dialect dialect) const;

 private:
  std::uint64_t of(Count count) const { return values_[static_cast<std::size_t>(count)]; }

  std::array<std::uint64_t, 7> values_ = {};
  bool told_ = false;
};

/// The count that a path holds; the path is one of an answer's document, without what wraps it in
/// an event.
std::optional<Count> countAt(Dialect dialect, std::string_view path);

/// The path without what wraps an answer in an event ("message.", "response.", "[].").
std::string_view withoutWrap(Dialect dialect, std::string_view path);

}  // namespace warder::models
