#include "secrets/vault/scrubber.h"

#include <algorithm>
#include <span>

namespace warder::vault {

/// Everything is looked at where it will stand, behind `out`; what may not pass yet goes back.
void Scrubber::push(std::string_view bytes, WipedBytes& out) {
  const std::size_t start = out.size();
  append(out, viewOf(held_));
  append(out, bytes);
  const std::span<char> fresh = std::span(out).subspan(start);
  const std::size_t count = passable({fresh.data(), fresh.size()});
  if (count > decided_) {
    const auto replaced = forms_->replace(fresh, {decided_, count});
    hits_ += replaced.hits;
    decided_ = replaced.decided;
  }
  held_.assign(fresh.begin() + static_cast<std::ptrdiff_t>(count), fresh.end());
  decided_ -= std::min(decided_, count);
  out.resize(start + count);
}

void Scrubber::finish(WipedBytes& out) {
  hits_ += forms_->replace(held_, {std::min(decided_, held_.size()), held_.size()}).hits;
  append(out, viewOf(held_));
  held_.clear();
  decided_ = 0;
  looked_ = 0;
}

/// In Events mode an event ends at a blank line; a secret holds no line feed, so none can cross it.
/// The last end counts, so it is looked for from behind.
std::size_t Scrubber::passable(std::string_view held) {
  const std::size_t window = held.size() - std::min(held.size(), forms_->window());
  if (mode_ == Mode::Window) return window;
  std::size_t end = 0;
  for (std::size_t at = held.size(); at > looked_ && end == 0; --at) {
    if (held[at - 1] != '\n' && held[at - 1] != '\r') continue;
    const std::string_view before = held.substr(0, at);
    if (before.ends_with("\n\n") || before.ends_with("\r\r") || before.ends_with("\n\r\n"))
      end = at;
  }
  looked_ = held.size() - end;
  if (end == 0 && held.size() > kMaxHeldEvent) {
    looked_ = held.size() - window;
    return window;
  }
  return end;
}

bool scrubWhole(const HiddenForms& forms, WipedBytes& text, std::size_t length) {
  return forms.replaceAll(std::span(text).first(length)) > 0;
}

}  // namespace warder::vault
