// The one way by which an event leaves the broker: without keys, and not in floods.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/event.h"

namespace warder::secrets {

/// Of each kind of refusal, and for each grant, so many are told in one second.
inline constexpr std::size_t kRefusalsTold = 20;
inline constexpr std::chrono::milliseconds kRefusalWindow{1'000};

class EventGate {
 public:
  using Clock = std::chrono::steady_clock;

  explicit EventGate(base::Emit emit) : emit_(std::move(emit)) {}
  EventGate(const EventGate&) = delete;
  EventGate& operator=(const EventGate&) = delete;

  /// From now on no event holds this secret. `secret` must outlive the gate.
  void hide(std::string_view secret, std::string_view placeholder);
  /// As long as `owner`, in whose memory it is, lives.
  void hide(const std::shared_ptr<const void>& owner, std::string_view secret,
            std::string_view placeholder);
  /// Takes the hidden secrets out of a text, in every spelling that key_forms.h knows.
  void clean(std::string& text) const;

  /// Emits the event, cleaned in all its texts and keys. A broker.denied or broker.bad_request
  /// beyond kRefusalsTold in the window is kept instead: the last of them is emitted when the
  /// window is over, with `suppressed`, the number of those before it that were not.
  void pass(base::Event event, Clock::time_point now);
  /// Emits what is kept of windows that are over at `now`; all of it with time_point::max().
  void release(Clock::time_point now);
  /// Is something kept back?
  bool holds() const;

 private:
  struct Hidden {
    std::string_view secret;
    std::string replacement;
    bool owned = false;
    std::weak_ptr<const void> owner;
    bool isGone() const { return owned && owner.expired(); }  // its memory was wiped
  };
  struct Window {
    Clock::time_point began;
    std::size_t told = 0;
    std::uint64_t kept = 0;
    base::Event last;
  };

  void clean(base::json::value& value) const;
  void clean(base::json::object& object) const;
  void releaseWindow(Window& window);

  base::Emit emit_;
  std::vector<Hidden> hidden_;
  std::map<std::pair<std::string, std::string>, Window> windows_;  // by type and grant
};

}  // namespace warder::secrets
