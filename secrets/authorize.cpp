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

bool isHopByHop(std::string_view lower_name) {
  return std::find(kHopByHop.begin(), kHopByHop.end(), lower_name) != kHopByHop.end();
}

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool isPlaceholder(const HeaderField& field, const Grant& grant, const Provider& provider) {
  if (sameName(field.name, provider.inject_header)) return field.value == grant.placeholder;
  if (!sameName(field.name, "authorization") || field.value.size() < 7) return false;
  return sameName(std::string_view(field.value).substr(0, 7), "bearer ") &&
         std::string_view(field.value).substr(7) == grant.placeholder;
}

Refusal refuse(std::string sentence) {
  Refusal refusal;
  refusal.sentence = std::move(sentence);
  return refusal;
}

std::string routesOf(const Provider& provider) {
  std::string text;
  for (const Route& route : provider.routes)
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
  const Route* route = nullptr;
  bool known_path = false;
  for (const Route& candidate : provider.routes) {
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
  const bool credential = std::any_of(
      head.fields.begin(), head.fields.end(),
      [&](const auto& field) { return isPlaceholder(field, request.grant, request.provider); });
  if (!credential)
    return {nullptr, refuse("the credential is not the one that Warder gave to this run; send the "
                            "value of the environment's API key variable as " +
                            provider.inject_header + " or as Authorization: Bearer")};
  return {route, std::nullopt};
}

std::string upstreamHead(const AdmissionCase& request) {
  const auto& [grant, provider, policy, head, target] = request;
  const auto listed = listField(head.fields, "connection");
  std::string text = head.method + " " + grant.upstream.base_path + target.path + target.query +
                     " HTTP/1.1\r\nHost: " + authorityOf(grant.upstream) + "\r\n";
  for (const HeaderField& field : head.fields) {
    const std::string name = lowerCase(field.name);
    const bool ours = name == "host" || name == "content-length" || name == "expect" ||
                      name == "accept-encoding" || name == provider.inject_header;
    if (ours || isHopByHop(name) || contains(listed, name)) continue;
    if (contains(provider.credential_headers, name)) continue;
    text += field.name + ": " + field.value + "\r\n";
  }
  text += "Accept-Encoding: identity\r\nConnection: close\r\n";
  if (head.framing.kind == Framing::Kind::Length)
    text += "Content-Length: " + std::to_string(head.framing.length) + "\r\n";
  if (head.framing.kind == Framing::Kind::Chunked) text += "Transfer-Encoding: chunked\r\n";
  return text;
}

HeaderFields forwardedFields(const HeaderFields& fields) {
  const auto listed = listField(fields, "connection");
  HeaderFields kept;
  for (const HeaderField& field : fields) {
    const std::string name = lowerCase(field.name);
    if (isHopByHop(name) || contains(listed, name) || name == "content-length") continue;
    kept.push_back(field);
  }
  return kept;
}

}  // namespace warder::secrets
