#include "secrets/vault/credential.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>

#include "secrets/vault/aws_credentials.h"

namespace warder::vault {

using base::Error;
using base::Result;
using base::Status;
using Kind = CredentialKind::Kind;

/// The key of the last day and region that was signed for: deriving it is four of five hashes.
struct Credential::DayKey {
  std::array<char, 8> day;
  std::array<char, 64> region;
  std::size_t region_length;
  SigningKey key;
};

namespace {

Error wrong(const std::string& why) {
  return Error{base::Kind::Config, "the secret " + why};
}

/// All that can be made of it: itself, percent-encoded, and in base64 with a user before it.
std::size_t mostBytes(const CredentialKind& kind, std::size_t secret) {
  return 512 + kind.name.size() + 3 * kind.user.size() + 6 * secret;
}

}  // namespace

Result<Credential> Credential::make(const CredentialKind& kind, const SecretBytes& secret) {
  if (const std::string why = http::whyNoKind(kind); !why.empty())
    return Error{base::Kind::Config, "the name of what carries the secret " + why};
  const std::string_view text = secret.reveal();
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!plain && kind.kind != Kind::SigV4) return wrong("holds a space or several lines");
  const std::size_t colon = text.find(':');
  if (kind.kind == Kind::Basic && kind.user.empty() && colon == std::string_view::npos)
    return wrong("is no USER:PASSWORD, and no user is named for it");
  if (kind.kind == Kind::Basic && kind.user.empty() && text.size() - colon <= kMinSecretBytes)
    return wrong("has a password of less than 8 characters");
  auto pages = LockedPages::make(mostBytes(kind, text.size()));
  if (!pages) return pages.error();
  Credential credential(kind, std::move(*pages));
  if (kind.kind != Kind::SigV4) {
    credential.fill(text);
    return credential;
  }
  if (auto filled = credential.fillSigning(text); !filled) return filled.error();
  return credential;
}

std::string_view Credential::put(std::string_view text) {
  char* at = pages_.data() + used_;
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  used_ += text.size();
  return {at, text.size()};
}

std::string_view Credential::putEncoded(std::string_view text) {
  constexpr std::string_view kUnreserved = "-._~";
  constexpr char kDigits[] = "0123456789ABCDEF";
  const char* from = pages_.data() + used_;
  for (const char& c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       kUnreserved.find(c) != std::string_view::npos;
    if (plain) {
      put({&c, 1});
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    const std::array<char, 3> spelled{'%', kDigits[byte / 16], kDigits[byte % 16]};
    put({spelled.data(), spelled.size()});
  }
  return since(from);
}

std::string_view Credential::putBase64(std::string_view text) {
  char* at = pages_.data() + used_;
  const int length = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(at),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
  used_ += static_cast<std::size_t>(length);
  return {at, static_cast<std::size_t>(length)};
}

std::string_view Credential::since(const char* from) const {
  return {from, static_cast<std::size_t>(pages_.data() + used_ - from)};
}

void Credential::fill(std::string_view secret) {
  if (kind_.kind == Kind::Basic) return fillBasic(secret);
  const char* from = pages_.data();
  if (kind_.kind == Kind::Query) {
    put(kind_.name);
    put("=");
    const std::string_view spelled = putEncoded(secret);
    query_ = since(from);
    // The scrubber knows percent-encoding: only what is not encoded differs from it.
    hidden_.push_back(spelled == secret ? spelled : put(secret));
    return;
  }
  put(kind_.kind == Kind::Bearer ? "Authorization: Bearer " : kind_.name);
  if (kind_.kind == Kind::Header) put(": ");
  hidden_.push_back(put(secret));
  put("\r\n");
  lines_ = since(from);
}

void Credential::fillBasic(std::string_view secret) {
  const char* from = pages_.data();
  if (!kind_.user.empty()) {
    put(kind_.user);
    put(":");
  }
  put(secret);
  const std::string_view whole = since(from);
  const std::string_view password = whole.substr(whole.find(':') + 1);
  const char* line = pages_.data() + used_;
  put("Authorization: Basic ");
  const std::string_view spelled = putBase64(whole);
  put("\r\n");
  lines_ = since(line);
  hidden_ = {password, spelled};
}

Status Credential::fillSigning(std::string_view secret) {
  const auto parts = readAwsCredentials(secret);
  if (!parts) return parts.error();
  day_key_ = new (pages_.data()) DayKey{};
  used_ = sizeof(DayKey);
  const char* from = pages_.data() + used_;
  put("AWS4");
  hidden_.push_back(put(parts->secret));
  prefixed_secret_ = since(from);
  id_ = put(parts->id);
  token_ = put(parts->token);
  if (!token_.empty()) hidden_.push_back(token_);
  return {};
}

Result<SigningKey> Credential::keyOf(const SigningScope& scope, std::string_view day) const {
  DayKey& last = *day_key_;
  if (std::string_view(last.day.data(), last.day.size()) == day &&
      std::string_view(last.region.data(), last.region_length) == scope.region)
    return last.key;
  auto key = signingKey(prefixed_secret_, day, scope);
  if (!key) return key.error();
  last.key = *key;
  std::copy(day.begin(), day.end(), last.day.begin());
  std::copy(scope.region.begin(), scope.region.end(), last.region.begin());
  last.region_length = scope.region.size();
  return key;
}

Status Credential::sign(const SigningCase& request, WipedBytes& lines) const {
  if (!signs()) return Error{base::Kind::Internal, "a credential that does not sign was asked to"};
  SigningScope scope{id_, token_, kind_.region, kind_.service};
  if (scope.region.empty()) scope.region = regionOfHost(request.host);
  if (scope.region.empty() || scope.region.size() > std::tuple_size_v<decltype(DayKey::region)>)
    return wrong("signs for a region of AWS, and neither the job nor the host says which");
  const auto when = signingTime(request.time);
  if (!when) return when.error();
  auto key = keyOf(scope, std::string_view(*when).substr(0, 8));
  if (!key) return key.error();
  const auto signature = signRequest(request, scope, *key);
  wipe(key->data(), key->size());
  if (!signature) return signature.error();
  append(lines, signature->before_token);
  if (!token_.empty()) {
    append(lines, "X-Amz-Security-Token: ");
    append(lines, token_);
    append(lines, "\r\n");
  }
  append(lines, signature->after_token);
  return {};
}

}  // namespace warder::vault
