#include "secrets/vault/scrubber.h"

#include <algorithm>
#include <span>

#include "secrets/vault/key_forms.h"

namespace warder::vault {

Scrubber::Scrubber(std::string_view secret, std::string_view placeholder, Mode mode)
    : secret_(secret),
      replacement_(replacementOf(placeholder, secret.size())),
      mode_(mode),
      window_(secret.empty() ? 0 : secret.size() * kLongestForm - 1) {}

void Scrubber::push(std::string_view bytes, WipedBytes& out) {
  const std::size_t start = held_.size() - std::min(held_.size(), window_);
  append(held_, bytes);
  hits_ += replaceKey(secret_, replacement_, std::span(held_).subspan(start));
  const std::size_t count = passable();
  append(out, viewOf(held_).substr(0, count));
  dropFront(held_, count);
}

void Scrubber::finish(WipedBytes& out) {
  append(out, viewOf(held_));
  held_.clear();
  looked_ = 0;
}

/// In Events mode an event ends at a blank line; a secret holds no line feed, so none can cross it.
std::size_t Scrubber::passable() {
  const std::size_t window = held_.size() - std::min(held_.size(), window_);
  if (mode_ == Mode::Window) return window;
  const std::string_view held = viewOf(held_);
  std::size_t end = 0;
  for (std::size_t at = looked_; at < held.size(); ++at) {
    if (held[at] != '\n' && held[at] != '\r') continue;
    const std::string_view before = held.substr(0, at + 1);
    if (before.ends_with("\n\n") || before.ends_with("\r\r") || before.ends_with("\n\r\n"))
      end = at + 1;
  }
  looked_ = held.size() - end;
  if (end == 0 && held.size() > kMaxHeldEvent) {
    looked_ = held.size() - window;
    return window;
  }
  return end;
}

bool scrubWhole(std::string_view secret, std::string_view placeholder, WipedBytes& text,
                std::size_t length) {
  const std::string replacement = replacementOf(placeholder, secret.size());
  return replaceKey(secret, replacement, std::span(text).first(length)) > 0;
}

}  // namespace warder::vault
