#include "secrets/authorize.h"

#include <algorithm>
#include <array>

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

/// Names with an underscore are read by some gateways as those with a dash: x_api_key.
bool couldMislead(std::string_view lower_name) {
  return lower_name.find('_') != std::string_view::npos || lower_name.starts_with("x-forwarded-") ||
         std::find(kOverrides.begin(), kOverrides.end(), lower_name) != kOverrides.end();
}

bool isHopByHop(std::string_view lower_name) {
  return std::find(kHopByHop.begin(), kHopByHop.end(), lower_name) != kHopByHop.end();
}

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Does a client name itself by this header? Cookies and what is for a proxy only get removed.
bool isCredential(const http::HeaderField& field, const models::Provider& provider) {
  return http::sameName(field.name, provider.inject_header) ||
         http::sameName(field.name, "authorization");
}

bool isPlaceholder(const http::HeaderField& field, const Grant& grant,
                   const models::Provider& provider) {
  if (http::sameName(field.name, provider.inject_header)) return field.value == grant.placeholder;
  if (!http::sameName(field.name, "authorization") || field.value.size() < 7) return false;
  return http::sameName(std::string_view(field.value).substr(0, 7), "bearer ") &&
         std::string_view(field.value).substr(7) == grant.placeholder;
}

/// At least one credential, and each is the placeholder.
bool hasOnlyPlaceholders(const AdmissionCase& request) {
  bool found = false;
  for (const http::HeaderField& field : request.head.fields) {
    if (!isCredential(field, request.provider)) continue;
    if (!isPlaceholder(field, request.grant, request.provider)) return false;
    found = true;
  }
  return found;
}

Refusal refuse(std::string sentence) {
  Refusal refusal;
  refusal.sentence = std::move(sentence);
  return refusal;
}

std::string routesOf(const models::Provider& provider) {
  std::string text;
  for (const models::Route& route : provider.routes)
    text += (text.empty() ? "" : ", ") + route.method + " " + route.path;
  return text;
}

}  // namespace

std::string authorityOf(const Upstream& upstream) {
  const bool literal6 = upstream.host.find(':') != std::string::npos;
  const std::string host = literal6 ? "[" + upstream.host + "]" : upstream.host;
  return upstream.port == (upstream.tls ? 443 : 80) ? host
                                                    : host + ":" + std::to_string(upstream.port);
}

Admission admit(const AdmissionCase& request) {
  const auto& [grant, provider, policy, head, target] = request;
  const models::Route* route = nullptr;
  bool known_path = false;
  for (const models::Route& candidate : provider.routes) {
    if (candidate.path != target.path) continue;
    known_path = true;
    if (candidate.method == head.method) route = &candidate;
  }
  if (route == nullptr) {
    Refusal refusal = refuse("Warder's broker passes on only " + routesOf(provider) +
                             " here; this request was not sent");
    if (!known_path) {
      refusal.status = 404;
      refusal.error_type = "not_found_error";
    }
    return {nullptr, refusal};
  }
  const policies::Request wanted{grant.upstream.host, grant.upstream.port, head.method,
                                 grant.upstream.base_path + target.path};
  const policies::Decision decision = policies::decide(policy, wanted);
  if (!decision.allowed) {
    Refusal refusal = refuse("Warder's policy does not allow this request: " + decision.reason +
                             ". Do not try again; ask whoever wrote the job to allow it");
    refusal.rule = decision.rule;
    return {nullptr, refusal};
  }
  if (!hasOnlyPlaceholders(request))
    return {nullptr, refuse("the credential is not the one that Warder gave to this run; send the "
                            "value of the environment's API key variable as " +
                            provider.inject_header +
                            " or as Authorization: Bearer, and no other credential beside it")};
  return {route, std::nullopt};
}

std::string upstreamHead(const AdmissionCase& request) {
  const auto& [grant, provider, policy, head, target] = request;
  const auto listed = http::listField(head.fields, "connection");
  std::string text = head.method + " " + grant.upstream.base_path + target.path + target.query +
                     " HTTP/1.1\r\nHost: " + authorityOf(grant.upstream) + "\r\n";
  for (const http::HeaderField& field : head.fields) {
    const std::string name = http::lowerCase(field.name);
    const bool ours = name == "host" || name == "content-length" || name == "expect" ||
                      name == "accept-encoding" || name == provider.inject_header;
    if (ours || isHopByHop(name) || couldMislead(name) || contains(listed, name)) continue;
    if (contains(provider.credential_headers, name)) continue;
    text += field.name + ": " + field.value + "\r\n";
  }
  text += "Accept-Encoding: identity\r\nConnection: close\r\n";
  if (head.framing.kind == http::Framing::Kind::Length)
    text += "Content-Length: " + std::to_string(head.framing.length) + "\r\n";
  if (head.framing.kind == http::Framing::Kind::Chunked) text += "Transfer-Encoding: chunked\r\n";
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
