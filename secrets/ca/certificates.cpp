#include "secrets/ca/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

#include "secrets/ca/authority.h"

namespace warder::ca {

using base::Error;
using base::Kind;
using base::Result;

namespace {

constexpr std::size_t kLongestCommonName = 64;  // RFC 5280, ub-common-name
constexpr std::size_t kLongestLabel = 63;       // RFC 1035, 2.3.4

bool isAddress(const std::string& host) {
  std::array<unsigned char, 16> ignored;
  return ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/// As the broker's canonical form has it; nothing of it means something to OpenSSL's extension
/// syntax.
bool isName(const std::string& host) {
  if (host.empty() || host.size() > kLongestHost) return false;
  if (!std::all_of(host.begin(), host.end(), isNameCharacter)) return false;
  std::size_t label = 0;
  for (const char c : host) {
    if (c == '.' && label == 0) return false;
    label = c == '.' ? 0 : label + 1;
    if (label > kLongestLabel) return false;
  }
  return label > 0;
}

/// 127 random bits: positive, and the same for nobody else.
bool setSerial(X509* certificate) {
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);
  BIGNUM* number = BN_bin2bn(bytes.data(), bytes.size(), nullptr);
  const bool set = number != nullptr &&
                   BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

bool addName(X509_NAME* name, const char* field, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

/// What both kinds have in common; null when OpenSSL cannot.
Certificate begin(EVP_PKEY* key, Validity validity) {
  Certificate certificate(X509_new());
  X509* raw = certificate.get();
  if (raw == nullptr || X509_set_version(raw, X509_VERSION_3) != 1 || !setSerial(raw) ||
      ASN1_TIME_set(X509_getm_notBefore(raw), validity.from) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(raw), validity.until) == nullptr ||
      X509_set_pubkey(raw, key) != 1)
    return nullptr;
  return certificate;
}

}  // namespace

Error tlsError(const std::string& doing) {
  const unsigned long code = ERR_get_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return Error{Kind::Internal, doing + ": " + (reason != nullptr ? reason : "OpenSSL failed"), 0};
}

Key makeKey() {
  return Key(EVP_EC_gen("P-256"));
}

Result<Certificate> makeAuthority(EVP_PKEY* key, const std::string& name, Validity validity) {
  ERR_clear_error();
  const auto problem = [] { return tlsError("making the certificate of the run's CA"); };
  Certificate certificate = begin(key, validity);
  X509* raw = certificate.get();
  if (raw == nullptr) return problem();
  X509_NAME* subject = X509_get_subject_name(raw);
  if (!addName(subject, "O", "Warder") ||
      !addName(subject, "CN", name.substr(0, kLongestCommonName)) ||
      X509_set_issuer_name(raw, subject) != 1)
    return problem();
  // pathlen 0: it signs leaves, and no further authority.
  if (!extend(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !extend(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !extend(raw, raw, NID_subject_key_identifier, "hash") ||
      !extend(raw, raw, NID_authority_key_identifier, "keyid:always"))
    return problem();
  if (X509_sign(raw, key, EVP_sha256()) == 0) return problem();
  return certificate;
}

Result<Certificate> makeLeaf(EVP_PKEY* key, const std::string& host, Validity validity,
                             Issuer issuer) {
  ERR_clear_error();
  const bool address = isAddress(host);
  if (!address && !isName(host))
    return Error{Kind::Config, "no certificate can be made for this host", 0};
  const auto problem = [] { return tlsError("making a leaf of the run's CA"); };
  Certificate certificate = begin(key, validity);
  X509* raw = certificate.get();
  if (raw == nullptr) return problem();
  X509_NAME* subject = X509_get_subject_name(raw);
  // Clients read the subjectAltName; the common name is for people.
  const std::string common = host.size() <= kLongestCommonName ? host : "see subjectAltName";
  if (!addName(subject, "O", "Warder") || !addName(subject, "CN", common) ||
      X509_set_issuer_name(raw, X509_get_subject_name(issuer.certificate)) != 1)
    return problem();
  if (!extend(raw, issuer.certificate, NID_basic_constraints, "critical,CA:FALSE") ||
      !extend(raw, issuer.certificate, NID_key_usage, "critical,digitalSignature") ||
      !extend(raw, issuer.certificate, NID_ext_key_usage, "serverAuth") ||
      !extend(raw, issuer.certificate, NID_subject_key_identifier, "hash") ||
      !extend(raw, issuer.certificate, NID_authority_key_identifier, "keyid:always") ||
      !extend(raw, issuer.certificate, NID_subject_alt_name, (address ? "IP:" : "DNS:") + host))
    return problem();
  if (X509_sign(raw, issuer.key, EVP_sha256()) == 0) return problem();
  return certificate;
}

Result<std::string> toPem(X509* certificate) {
  ERR_clear_error();
  std::unique_ptr<BIO, int (*)(BIO*)> memory(BIO_new(BIO_s_mem()), BIO_free);
  char* bytes = nullptr;
  if (!memory || PEM_write_bio_X509(memory.get(), certificate) != 1)
    return tlsError("writing the certificate of the run's CA");
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

}  // namespace warder::ca
