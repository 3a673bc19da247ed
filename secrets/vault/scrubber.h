// Replaces secrets that an upstream sends back, in a stream, without an oracle: what is held back
// never depends on how much of a secret was seen.
#pragma once
#include <string_view>

#include "secrets/vault/hidden_forms.h"
#include "secrets/vault/secret_bytes.h"

namespace warder::vault {

/// Whole events are held back until they are complete, but never more than this.
inline constexpr std::size_t kMaxHeldEvent = 65'536;

class Scrubber {
 public:
  /// `Events`: server-sent events; whole events pass at once, what is unfinished waits. `Window`:
  /// the last bytes wait, as many as HiddenForms::window says.
  enum class Mode { Window, Events };

  /// `forms` must outlive the scrubber. What replaces a secret is as long as what stood there, so
  /// that lengths which were announced stay true.
  Scrubber(const HiddenForms& forms, Mode mode) : forms_(&forms), mode_(mode) {}

  /// Appends to `out` what may pass now.
  void push(std::string_view bytes, WipedBytes& out);
  /// Appends the rest: nothing more will come.
  void finish(WipedBytes& out);
  /// How often a secret was seen.
  std::size_t hits() const { return hits_; }

 private:
  std::size_t passable(std::string_view held);

  const HiddenForms* forms_;
  Mode mode_;
  WipedBytes held_;
  std::size_t decided_ = 0;  // bytes of held_ before which nothing begins any more
  std::size_t looked_ = 0;   // bytes of held_ in which no event ends
  std::size_t hits_ = 0;
};

/// For heads, which are whole: replaces every occurrence in the first `length` bytes, in place;
/// true when there was one.
bool scrubWhole(const HiddenForms& forms, WipedBytes& text, std::size_t length);

}  // namespace warder::vault
