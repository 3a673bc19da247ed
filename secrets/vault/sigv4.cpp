#include "secrets/vault/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "secrets/vault/secret_bytes.h"

namespace warder::vault {

using base::Error;
using base::Kind;
using base::Result;

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

/// Fields that the signature adds itself, and those that proxies change (the list that AWS's own
/// SDKs leave out).
constexpr std::array<std::string_view, 14> kNotSigned = {
    "authorization",        "connection", "content-length",       "expect",         "host",
    "keep-alive",           "te",         "transfer-encoding",    "upgrade",        "user-agent",
    "x-amz-content-sha256", "x-amz-date", "x-amz-security-token", "x-amzn-trace-id"};

std::string hex(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

bool hmac(std::string_view key, std::string_view text, SigningKey& to) {
  unsigned length = 0;
  return ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(text.data()), text.size(), to.data(),
                &length) != nullptr;
}

std::string_view viewOf(const SigningKey& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

Error failed() {
  return Error{Kind::Internal, "a request for AWS could not be signed"};
}

bool isUnreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string encoded(std::string_view text, bool keep_slash) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (isUnreserved(c) || (keep_slash && c == '/')) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte / 16];
    out += kDigits[byte % 16];
  }
  return out;
}

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool whole = text[at] == '%' && at + 2 < text.size();
    const int high = whole ? hexValue(text[at + 1]) : -1;
    const int low = whole ? hexValue(text[at + 2]) : -1;
    if (high < 0 || low < 0) {
      out += text[at];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

/// Dot segments resolved and empty ones left out (RFC 3986 section 5.2.4, stricter).
std::string normalised(std::string_view path) {
  std::vector<std::string_view> kept;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view segment = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (segment.empty() || segment == ".") continue;
    if (segment != "..")
      kept.push_back(segment);
    else if (!kept.empty())
      kept.pop_back();
  }
  std::string out;
  for (const std::string_view segment : kept) out += "/" + std::string(segment);
  const bool folder = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
  return kept.empty() || folder ? out + "/" : out;
}

/// S3 signs a path as it is sent; every other service normalised and encoded once more.
std::string canonicalPath(std::string_view path, std::string_view service) {
  if (service == "s3") return path.empty() ? "/" : std::string(path);
  return encoded(normalised(path), true);
}

std::string canonicalQuery(std::string_view rest) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (one.empty()) continue;
    const std::size_t mark = std::min(one.find('='), one.size());
    const std::string_view value = one.substr(std::min(mark + 1, one.size()));
    parameters.emplace_back(encoded(decoded(one.substr(0, mark)), false),
                            encoded(decoded(value), false));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string out;
  for (const auto& [name, value] : parameters) {
    out += out.empty() ? "" : "&";
    out += name + "=" + value;
  }
  return out;
}

/// Without blanks around it, and one where several stood.
std::string squeezed(std::string_view value) {
  std::string out;
  bool blank = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      blank = !out.empty();
      continue;
    }
    if (blank) out += ' ';
    blank = false;
    out += c;
  }
  return out;
}

bool isNeeded(std::string_view payload_hash, std::string_view service) {
  return service == "s3" || payload_hash == kUnsignedPayload;
}

/// Names and values that are signed, by name. The token is not among them.
std::map<std::string, std::string> signedFields(const SigningCase& request,
                                                const SigningScope& scope,
                                                const std::string& when) {
  std::map<std::string, std::string> fields;
  for (const http::HeaderField& field : request.fields) {
    const std::string name = http::lowerCase(field.name);
    if (std::find(kNotSigned.begin(), kNotSigned.end(), name) != kNotSigned.end()) continue;
    const auto [place, is_new] = fields.try_emplace(name, squeezed(field.value));
    if (!is_new) place->second += "," + squeezed(field.value);
  }
  fields["host"] = std::string(request.host);
  fields["x-amz-date"] = when;
  if (isNeeded(request.payload_hash, scope.service))
    fields["x-amz-content-sha256"] = std::string(request.payload_hash);
  return fields;
}

class Digest {
 public:
  Digest() : context_(::EVP_MD_CTX_new()) {
    fine_ = context_ != nullptr && ::EVP_DigestInit_ex(context_, ::EVP_sha256(), nullptr) == 1;
  }
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  ~Digest() { ::EVP_MD_CTX_free(context_); }

  void add(std::string_view text) {
    fine_ = fine_ && ::EVP_DigestUpdate(context_, text.data(), text.size()) == 1;
  }
  Result<std::string> hexOf() {
    SigningKey digest;
    if (!fine_ || ::EVP_DigestFinal_ex(context_, digest.data(), nullptr) != 1) return failed();
    return hex(digest);
  }

 private:
  ::EVP_MD_CTX* context_;
  bool fine_ = false;
};

struct Canonical {
  std::string hash;
  std::string signed_names;
};

/// Fed to the digest piece by piece, for the sake of the token.
Result<Canonical> canonicalRequest(const SigningCase& request, const SigningScope& scope,
                                   const std::string& when) {
  auto fields = signedFields(request, scope, when);
  if (!scope.token.empty()) fields["x-amz-security-token"] = "";
  Digest digest;
  digest.add(request.method);
  digest.add("\n" + canonicalPath(request.path, scope.service) + "\n");
  digest.add(canonicalQuery(request.query) + "\n");
  Canonical result;
  for (const auto& [name, value] : fields) {
    digest.add(name + ":");
    digest.add(name == "x-amz-security-token" ? scope.token : std::string_view(value));
    digest.add("\n");
    result.signed_names += (result.signed_names.empty() ? "" : ";") + name;
  }
  digest.add("\n" + result.signed_names + "\n");
  digest.add(request.payload_hash);
  auto hash = digest.hexOf();
  if (!hash) return hash.error();
  result.hash = std::move(*hash);
  return result;
}

}  // namespace

Result<std::string> signingTime(std::time_t time) {
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&time, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts) != 16)
    return failed();
  return std::string(text.data());
}

Result<SigningKey> signingKey(std::string_view prefixed_secret, std::string_view day,
                              const SigningScope& scope) {
  SigningKey one{}, other{};
  const bool fine = hmac(prefixed_secret, day, one) && hmac(viewOf(one), scope.region, other) &&
                    hmac(viewOf(other), scope.service, one) &&
                    hmac(viewOf(one), "aws4_request", other);
  wipe(one.data(), one.size());
  if (!fine) return failed();
  return other;
}

Result<Signature> signRequest(const SigningCase& request, const SigningScope& scope,
                              const SigningKey& key) {
  const auto when = signingTime(request.time);
  if (!when) return when.error();
  const auto canonical = canonicalRequest(request, scope, *when);
  if (!canonical) return canonical.error();
  const std::string where = when->substr(0, 8) + "/" + std::string(scope.region) + "/" +
                            std::string(scope.service) + "/aws4_request";
  SigningKey signature;
  if (!hmac(viewOf(key),
            std::string(kAlgorithm) + "\n" + *when + "\n" + where + "\n" + canonical->hash,
            signature))
    return failed();
  Signature result;
  result.before_token = "X-Amz-Date: " + *when + "\r\n";
  if (isNeeded(request.payload_hash, scope.service))
    result.before_token += "X-Amz-Content-Sha256: " + std::string(request.payload_hash) + "\r\n";
  result.after_token = "Authorization: " + std::string(kAlgorithm) +
                       " Credential=" + std::string(scope.id) + "/" + where +
                       ", SignedHeaders=" + canonical->signed_names +
                       ", Signature=" + hex(signature) + "\r\n";
  return result;
}

std::string_view regionOfHost(std::string_view host) {
  host = host.substr(0, host.find(':'));
  if (host.ends_with(".cn")) host.remove_suffix(3);
  constexpr std::string_view kDomain = ".amazonaws.com";
  if (!host.ends_with(kDomain)) return {};
  host.remove_suffix(kDomain.size());
  const std::size_t first = host.find('.');
  if (first == std::string_view::npos) return {};
  const std::string_view region = host.substr(first + 1);
  return region.find('.') == std::string_view::npos ? region : std::string_view();
}

}  // namespace warder::vault
