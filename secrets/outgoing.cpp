#include "secrets/outgoing.h"

#include <algorithm>
#include <array>

#include "secrets/carriers.h"

namespace warder::secrets {

namespace {

/// Source: RFC 9110 section 7.6.1; "proxy-connection" and "http2-settings" are as dead.
constexpr std::array<std::string_view, 10> kHopByHop = {"connection",
                                                        "keep-alive",
                                                        "proxy-connection",
                                                        "proxy-authenticate",
                                                        "proxy-authorization",
                                                        "te",
                                                        "trailer",
                                                        "transfer-encoding",
                                                        "upgrade",
                                                        "http2-settings"};

/// By these some servers act on another method, path or host than the one that was decided on.
constexpr std::array<std::string_view, 6> kOverrides = {"x-original-url",         "x-rewrite-url",
                                                        "x-http-method-override", "x-http-method",
                                                        "x-method-override",      "forwarded"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool isHopByHop(std::string_view lower_name) {
  return contains(kHopByHop, lower_name);
}

/// Some gateways read a name with an underscore as the one with a dash: x_api_key. Where a secret
/// is lent none passes; elsewhere only those that would mean another message.
bool couldMislead(std::string lower_name, bool lent) {
  const bool underscored = lower_name.find('_') != std::string::npos;
  if (underscored && lent) return true;
  std::replace(lower_name.begin(), lower_name.end(), '_', '-');
  if (underscored && (isHopByHop(lower_name) || lower_name == "host" ||
                      lower_name == "content-length" || lower_name == "expect"))
    return true;
  return contains(kOverrides, lower_name) || (lent && lower_name.starts_with("x-forwarded-"));
}

/// Written by us, or not at all.
bool isOurs(std::string_view lower_name, bool lent) {
  return lower_name == "host" || lower_name == "content-length" || lower_name == "expect" ||
         (lent && lower_name == "accept-encoding");
}

bool listsElement(std::string_view value, std::string_view element) {
  const http::HeaderFields one{{"x", std::string(value)}};
  return contains(http::listField(one, "x"), element);
}

/// Puts the header that goes with a credential into the agent's own, or in its place.
void addFixed(http::HeaderFields& fields, const http::FixedHeader& fixed) {
  const auto same = [&](const http::HeaderField& field) {
    return http::sameName(field.name, fixed.name);
  };
  const auto own = std::find_if(fields.begin(), fields.end(), same);
  if (fixed.joins && own != fields.end()) {
    if (!listsElement(own->value, http::lowerCase(fixed.value))) own->value += "," + fixed.value;
    return;
  }
  fields.erase(std::remove_if(fields.begin(), fields.end(), same), fields.end());
  fields.push_back({fixed.name, fixed.value});
}

void addFraming(http::HeaderFields& fields, const http::Framing& framing) {
  if (framing.kind == http::Framing::Kind::Length)
    fields.push_back({"Content-Length", std::to_string(framing.length)});
  if (framing.kind == http::Framing::Kind::Chunked)
    fields.push_back({"Transfer-Encoding", "chunked"});
}

http::HeaderFields keptFields(const Asked& asked, const Verdict& verdict) {
  const auto listed = http::listField(asked.head.fields, "connection");
  const bool lent = verdict.lease != nullptr;
  http::HeaderFields kept;
  kept.reserve(asked.head.fields.size() + 4);
  for (const http::HeaderField& field : asked.head.fields) {
    const std::string name = http::lowerCase(field.name);
    if (isOurs(name, lent) || isHopByHop(name) || couldMislead(name, lent)) continue;
    if (contains(listed, name) || (lent && isCarrier(*verdict.lease, name))) continue;
    kept.push_back(field);
  }
  return kept;
}

/// Of all upgrades only WebSocket goes on, and only where nothing is lent.
bool passesUpgrade(const Asked& asked, const Verdict& verdict) {
  return asked.head.wants_upgrade && !verdict.lease &&
         contains(http::listField(asked.head.fields, "upgrade"), "websocket");
}

}  // namespace

Outgoing outgoing(const Asked& asked, const Verdict& verdict) {
  Outgoing request;
  request.method = asked.head.method;
  request.path = verdict.base_path + asked.target.path;
  request.query = asked.target.query;
  request.host = authorityOf(asked.to);
  request.fields = keptFields(asked, verdict);
  if (verdict.lease) {
    request.query = withoutCredentials(*verdict.lease, asked.target.query);
    request.fields.push_back({"Accept-Encoding", "identity"});
    for (const http::FixedHeader& fixed : verdict.lease->secret->credential.kind().extra)
      addFixed(request.fields, fixed);
  }
  if (passesUpgrade(asked, verdict)) {
    request.fields.push_back({"Connection", "Upgrade"});
    request.fields.push_back({"Upgrade", "websocket"});
  }
  addFraming(request.fields, asked.head.framing);
  return request;
}

std::string requestLineStart(const Outgoing& request) {
  return request.method + " " + request.path + request.query;
}

std::string restOfHead(const Outgoing& request) {
  std::string text;
  text.reserve(2048);
  text += " HTTP/1.1\r\nHost: ";
  text += request.host;
  text += "\r\n";
  for (const http::HeaderField& field : request.fields) {
    text += field.name;
    text += ": ";
    text += field.value;
    text += "\r\n";
  }
  return text;
}

http::HeaderFields forwardedFields(const http::HeaderFields& fields) {
  const auto listed = http::listField(fields, "connection");
  http::HeaderFields kept;
  for (const http::HeaderField& field : fields) {
    const std::string name = http::lowerCase(field.name);
    if (isHopByHop(name) || contains(listed, name) || name == "content-length") continue;
    kept.push_back(field);
  }
  return kept;
}

}  // namespace warder::secrets
