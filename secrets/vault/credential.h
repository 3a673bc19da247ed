// What is made of a secret: the bytes that a request carries, ready in locked pages.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "secrets/http/credential_kind.h"
#include "secrets/vault/secret_bytes.h"
#include "secrets/vault/sigv4.h"
#include "supervisor/base/result.h"

namespace warder::vault {

using http::CredentialKind;

/// The secret stands in it once as it is, and where its kind needs that once more encoded. All of
/// it in pages of its own, wiped at the end; nothing here is ever copied elsewhere.
class Credential {
 public:
  /// Errors: Config when the secret is none of this kind (no password, no AWS credentials, a part
  /// shorter than 8 bytes, a kind that whyNoKind refuses); the sentence never holds the content.
  /// Kernel.
  static base::Result<Credential> make(const CredentialKind& kind, const SecretBytes& secret);

  Credential(Credential&&) noexcept = default;
  Credential& operator=(Credential&&) noexcept = default;
  Credential(const Credential&) = delete;
  Credential& operator=(const Credential&) = delete;

  const CredentialKind& kind() const { return kind_; }

  /// Header, Bearer, Basic: the line of the head with its CRLF, without the blank line that ends
  /// the head; to be written from here. Empty for the others. The kind's `extra` is not in it.
  std::string_view lines() const { return lines_; }
  /// Query: "name=" and the secret, percent-encoded. Empty for the others.
  std::string_view queryPart() const { return query_; }

  /// SigV4: each request needs lines of its own.
  bool signs() const { return kind_.kind == CredentialKind::Kind::SigV4; }
  /// Appends the lines that sign this request, with CRLF. The fields of the same names that the
  /// agent sent must be gone. Errors: Internal for another kind; Config when neither kind nor host
  /// say a region; nothing is appended then.
  base::Status sign(const SigningCase& request, WipedBytes& lines) const;

  /// Everything that must not come back to the agent as it is: the secret; of Basic the password
  /// and its base64 with the user; of SigV4 the secret access key and the token of the session.
  std::span<const std::string_view> hidden() const { return hidden_; }

 private:
  struct DayKey;

  Credential(CredentialKind kind, LockedPages pages)
      : kind_(std::move(kind)), pages_(std::move(pages)) {}

  std::string_view put(std::string_view text);
  std::string_view putEncoded(std::string_view text);
  std::string_view putBase64(std::string_view text);
  std::string_view since(const char* from) const;
  void fill(std::string_view secret);
  void fillBasic(std::string_view secret);
  base::Status fillSigning(std::string_view secret);
  base::Result<SigningKey> keyOf(const SigningScope& scope, std::string_view day) const;

  CredentialKind kind_;
  LockedPages pages_;
  std::size_t used_ = 0;
  std::string_view lines_;
  std::string_view query_;
  std::vector<std::string_view> hidden_;
  // SigV4:
  std::string_view id_;
  std::string_view prefixed_secret_;
  std::string_view token_;
  DayKey* day_key_ = nullptr;  // in the pages
};

}  // namespace warder::vault
