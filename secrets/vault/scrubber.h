// Replaces a secret that an upstream sends back, in a stream, without an oracle: what is held back
// never depends on how much of the secret was seen.
#pragma once
#include <string>
#include <string_view>

#include "secrets/vault/secret_bytes.h"

namespace warder::vault {

/// Whole events are held back until they are complete, but never more than this.
inline constexpr std::size_t kMaxHeldEvent = 65'536;

class Scrubber {
 public:
  /// `Events`: server-sent events; whole events pass at once, what is unfinished waits. `Window`:
  /// the last bytes wait, one less than the longest spelling of the secret has.
  enum class Mode { Window, Events };

  /// `secret` must outlive the scrubber. It is found in every spelling that key_forms.h knows, and
  /// what replaces it is as long as what stood there, so that lengths which were announced stay
  /// true.
  Scrubber(std::string_view secret, std::string_view placeholder, Mode mode);

  /// Appends to `out` what may pass now.
  void push(std::string_view bytes, WipedBytes& out);
  /// Appends the rest: nothing more will come.
  void finish(WipedBytes& out);
  /// How often the secret was seen.
  std::size_t hits() const { return hits_; }

 private:
  std::size_t passable();

  std::string_view secret_;
  std::string replacement_;
  Mode mode_;
  std::size_t window_;  // bytes in which an unfinished secret may stand
  WipedBytes held_;
  std::size_t looked_ = 0;  // bytes of held_ in which no event ends
  std::size_t hits_ = 0;
};

/// For heads, which are whole: replaces every occurrence in the first `length` bytes, in place;
/// true when there was one.
bool scrubWhole(std::string_view secret, std::string_view placeholder, WipedBytes& text,
                std::size_t length);

}  // namespace warder::vault
