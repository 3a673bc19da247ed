#include "secrets/event_gate.h"

#include <algorithm>

#include "secrets/vault/key_forms.h"

namespace warder::secrets {

namespace json = base::json;

namespace {

bool isRefusal(const base::Event& event) {
  return event.type == "broker.denied" || event.type == "broker.bad_request" ||
         event.type == "dns.denied" || event.type == "broker.foreign_credential" ||
         event.type == "broker.incident";
}

std::string grantOf(const base::Event& event) {
  const json::value* grant = event.data.if_contains("grant");
  return grant != nullptr && grant->is_string() ? std::string(grant->get_string()) : "";
}

}  // namespace

void EventGate::hide(std::string_view secret, std::string_view placeholder) {
  hidden_.push_back({secret, vault::replacementOf(placeholder, secret.size()), false, {}});
}

void EventGate::hide(const std::shared_ptr<const void>& owner, std::string_view secret,
                     std::string_view placeholder) {
  std::erase_if(hidden_, [](const Hidden& one) { return one.owned && one.owner.expired(); });
  hidden_.push_back({secret, vault::replacementOf(placeholder, secret.size()), true, owner});
}

void EventGate::clean(std::string& text) const {
  for (const Hidden& hidden : hidden_)
    if (!hidden.isGone()) vault::replaceKey(hidden.secret, hidden.replacement, text);
}

void EventGate::clean(json::value& value) const {
  if (value.is_string()) {
    json::string& text = value.get_string();
    for (const Hidden& hidden : hidden_)
      if (!hidden.isGone())
        vault::replaceKey(hidden.secret, hidden.replacement, {text.data(), text.size()});
  } else if (value.is_array()) {
    for (json::value& element : value.get_array()) clean(element);
  } else if (value.is_object()) {
    clean(value.get_object());
  }
}

void EventGate::clean(json::object& object) const {
  json::object cleaned;
  for (auto& member : object) {
    std::string key(member.key());
    clean(key);
    clean(member.value());
    cleaned.insert_or_assign(key, std::move(member.value()));
  }
  object = std::move(cleaned);
}

void EventGate::pass(base::Event event, Clock::time_point now) {
  clean(event.data);
  if (!isRefusal(event)) return emit_(std::move(event));
  release(now);
  Window& window = windows_[{event.type, grantOf(event)}];
  if (window.told == 0) window.began = now;
  if (window.told < kRefusalsTold) {
    ++window.told;
    return emit_(std::move(event));
  }
  ++window.kept;
  window.last = std::move(event);
}

void EventGate::release(Clock::time_point now) {
  for (auto at = windows_.begin(); at != windows_.end();) {
    Window& window = at->second;
    if (now - window.began < kRefusalWindow) {
      ++at;
      continue;
    }
    if (window.kept > 0) releaseWindow(window);
    at = windows_.erase(at);
  }
}

bool EventGate::holds() const {
  return std::any_of(windows_.begin(), windows_.end(),
                     [](const auto& entry) { return entry.second.kept > 0; });
}

void EventGate::releaseWindow(Window& window) {
  if (window.kept > 1) window.last.data["suppressed"] = window.kept - 1;
  emit_(std::move(window.last));
}

}  // namespace warder::secrets
