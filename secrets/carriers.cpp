#include "secrets/carriers.h"

#include <openssl/evp.h>

#include <algorithm>

namespace warder::secrets {

namespace {

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Text was checked by the gate: each % has two digits behind it, or stays as it is.
std::string percentDecoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool encoded = text[i] == '%' && i + 2 < text.size() && hexValue(text[i + 1]) >= 0 &&
                         hexValue(text[i + 2]) >= 0;
    plain +=
        encoded ? static_cast<char>(hexValue(text[i + 1]) * 16 + hexValue(text[i + 2])) : text[i];
    if (encoded) i += 2;
  }
  return plain;
}

/// "Basic dXNlcjpwYXNz" as "user:pass"; empty for anything else.
std::string basicPair(std::string_view value) {
  if (value.size() < 6 || !http::sameName(value.substr(0, 6), "basic ")) return {};
  value.remove_prefix(6);
  std::string text(value);
  text.resize((text.size() + 3) / 4 * 4, '=');
  std::string pair(text.size(), '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(pair.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  pair.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return pair;
}

bool mentions(std::string_view text, const std::string& placeholder) {
  return text.find(placeholder) != std::string_view::npos ||
         (text.find('%') != std::string_view::npos &&
          percentDecoded(text).find(placeholder) != std::string::npos);
}

bool valueShows(std::string_view value, const std::string& placeholder) {
  return mentions(value, placeholder) || mentions(basicPair(value), placeholder);
}

/// Calls `use(name, value)` for each parameter of "?a=b&c=d".
template <class Use>
void eachParameter(std::string_view query, Use use) {
  if (query.starts_with('?')) query.remove_prefix(1);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    use(parameter, parameter.substr(0, equals),
        parameter.substr(std::min(parameter.size(), equals + 1)));
    query.remove_prefix(std::min(query.size(), end + 1));
  }
}

bool isCarrierParameter(const Lease& lease, std::string_view name) {
  const std::string plain = http::lowerCase(percentDecoded(name));
  const http::CredentialKind& kind = lease.secret->credential.kind();
  return contains(lease.provider->credential_parameters, plain) ||
         (kind.kind == http::CredentialKind::Kind::Query && plain == http::lowerCase(kind.name));
}

/// Cookies and what is for a proxy only get removed: no client names itself to an API by them.
bool isCredential(const Lease& lease, std::string_view lower_name) {
  const http::CredentialKind& kind = lease.secret->credential.kind();
  return lower_name == "authorization" ||
         (kind.kind == http::CredentialKind::Kind::Header && lower_name == kind.name) ||
         (contains(lease.provider->credential_headers, lower_name) && lower_name != "cookie" &&
          lower_name != "proxy-authorization");
}

}  // namespace

bool isCarrier(const Lease& lease, std::string_view lower_name) {
  return isCredential(lease, lower_name) ||
         contains(lease.provider->credential_headers, lower_name);
}

bool showsPlaceholder(const Lease& lease, const http::RequestHead& head,
                      const http::Target& target) {
  const std::string& placeholder = lease.grant->placeholder;
  for (const http::HeaderField& field : head.fields)
    if (isCredential(lease, http::lowerCase(field.name)) && valueShows(field.value, placeholder))
      return true;
  bool shown = false;
  eachParameter(target.query, [&](std::string_view, std::string_view name, std::string_view value) {
    shown = shown || (isCarrierParameter(lease, name) && mentions(value, placeholder));
  });
  return shown;
}

bool mentionsPlaceholder(const Lease& lease, const http::RequestHead& head,
                         const http::Target& target) {
  const std::string& placeholder = lease.grant->placeholder;
  if (mentions(target.path, placeholder) || mentions(target.query, placeholder)) return true;
  return std::any_of(head.fields.begin(), head.fields.end(), [&](const http::HeaderField& field) {
    return valueShows(field.value, placeholder) || mentions(field.name, placeholder);
  });
}

bool hasForeignCredential(const Lease& lease, const http::RequestHead& head,
                          const http::Target& target) {
  const std::string& placeholder = lease.grant->placeholder;
  for (const http::HeaderField& field : head.fields)
    if (isCredential(lease, http::lowerCase(field.name)) && !valueShows(field.value, placeholder))
      return true;
  bool foreign = false;
  eachParameter(target.query, [&](std::string_view, std::string_view name, std::string_view value) {
    foreign = foreign || (isCarrierParameter(lease, name) && !mentions(value, placeholder));
  });
  return foreign;
}

std::string withoutCredentials(const Lease& lease, const std::string& query) {
  std::string kept;
  eachParameter(query, [&](std::string_view whole, std::string_view name, std::string_view value) {
    if (isCarrierParameter(lease, name) || mentions(value, lease.grant->placeholder)) return;
    kept += (kept.empty() ? "?" : "&") + std::string(whole);
  });
  return kept.empty() && query == "?" ? query : kept;
}

}  // namespace warder::secrets
