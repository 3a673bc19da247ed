#include "secrets/http/credential_kind.h"

#include <algorithm>
#include <array>
#include <utility>

namespace warder::http {

namespace {

using Kind = CredentialKind::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 5> kNames = {{{"header", Kind::Header},
                                                                      {"bearer", Kind::Bearer},
                                                                      {"basic", Kind::Basic},
                                                                      {"query", Kind::Query},
                                                                      {"sigv4", Kind::SigV4}}};

/// These say how a message is framed or whom it is for; a secret in one of them would be a hole.
constexpr std::array<std::string_view, 9> kNotForSecrets = {
    "host",    "content-length", "transfer-encoding", "connection", "upgrade", "te",
    "trailer", "expect",         "keep-alive"};

/// Unreserved characters of RFC 3986 without the dot and the tilde; lower case where it is said.
bool isPlainName(std::string_view name, bool upper_too) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [&](char c) {
    const bool upper = c >= 'A' && c <= 'Z';
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           (upper_too && (upper || c == '_'));
  });
}

std::string whyNoHeader(std::string_view name) {
  if (!isPlainName(name, false)) return "must be a header's name of a-z, 0-9 and -, at most 64";
  if (std::find(kNotForSecrets.begin(), kNotForSecrets.end(), name) != kNotForSecrets.end())
    return "must be a header that does not frame the message";
  return {};
}

bool isPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::string_view nameOf(Kind kind) {
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const auto& one) { return one.second == kind; });
  return found->first;
}

std::optional<Kind> credentialKindNamed(std::string_view name) {
  for (const auto& [known, kind] : kNames)
    if (known == name) return kind;
  return std::nullopt;
}

std::string whyNoKind(const CredentialKind& kind) {
  if (kind.kind == Kind::Header) return whyNoHeader(kind.name);
  if (kind.kind == Kind::Query && !isPlainName(kind.name, true))
    return "must be a parameter's name of letters, digits, - and _, at most 64";
  if (kind.kind == Kind::Basic &&
      (kind.user.find(':') != std::string::npos || !isPrintable(kind.user)))
    return "must be a user's name in printable ASCII without space and colon";
  if (kind.kind == Kind::SigV4 && !isPlainName(kind.service, false))
    return "must be a service of AWS, as its signatures name it";
  if (!kind.region.empty() && !isPlainName(kind.region, false)) return "must be a region of AWS";
  return {};
}

}  // namespace warder::http
