// Certificates made on the spot: an authority of this test and leaves it signs. Header only, since
// not every test program links OpenSSL.
#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace warder::tests {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Certificate = std::unique_ptr<X509, FreeCertificate>;

struct Leaf {
  std::string names = "DNS:localhost,IP:127.0.0.1";  // subjectAltName as OpenSSL writes it
  long valid_from_s = -3600;                         // from now
  long valid_until_s = 3600;
  bool self_signed = false;
};

struct Identity {
  Key key;
  Certificate certificate;
};

/// An authority whose root lies as a PEM file in a folder of its own.
class TestCa {
 public:
  TestCa() {
    char pattern[] = "/tmp/warder-test-ca-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    root_.key.reset(EVP_EC_gen("P-256"));
    root_.certificate = make(root_.key.get(), Leaf{"", -3600, 3600, true}, "Warder Test Root");
    writePem(folder_ / "ca.pem", root_.certificate.get());
  }
  TestCa(const TestCa&) = delete;
  TestCa& operator=(const TestCa&) = delete;
  ~TestCa() { std::filesystem::remove_all(folder_); }

  std::string file() const { return folder_ / "ca.pem"; }
  const std::filesystem::path& folder() const { return folder_; }

  Identity issue(const Leaf& leaf = {}) const {
    Identity identity;
    identity.key.reset(EVP_EC_gen("P-256"));
    identity.certificate = make(identity.key.get(), leaf, "test leaf");
    return identity;
  }

  /// Certificate and key as files, for servers that are other programs.
  std::pair<std::string, std::string> issueFiles(const Leaf& leaf = {}) const {
    const Identity identity = issue(leaf);
    const auto certificate = folder_ / "leaf.pem";
    const auto key = folder_ / "leaf.key";
    writePem(certificate, identity.certificate.get());
    FILE* file = std::fopen(key.c_str(), "w");
    PEM_write_PrivateKey(file, identity.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    return {certificate, key};
  }

 private:
  static void writePem(const std::filesystem::path& path, X509* certificate) {
    FILE* file = std::fopen(path.c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
  }

  static void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    if (extension == nullptr) std::abort();
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  Certificate make(EVP_PKEY* key, const Leaf& leaf, const char* common_name) const {
    static long serial = ::getpid() * 1000L;
    Certificate certificate(X509_new());
    X509* raw = certificate.get();
    X509_set_version(raw, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(raw), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(raw), leaf.valid_from_s);
    X509_gmtime_adj(X509_getm_notAfter(raw), leaf.valid_until_s);
    X509_set_pubkey(raw, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
    X509* issuer = leaf.self_signed ? raw : root_.certificate.get();
    X509_set_issuer_name(raw, X509_get_subject_name(issuer));
    if (leaf.names.empty()) {
      extend(raw, issuer, NID_basic_constraints, "critical,CA:TRUE");
      extend(raw, issuer, NID_key_usage, "critical,keyCertSign,cRLSign");
    } else {
      extend(raw, issuer, NID_subject_alt_name, leaf.names);
    }
    X509_sign(raw, leaf.self_signed ? key : root_.key.get(), EVP_sha256());
    return certificate;
  }

  std::filesystem::path folder_;
  Identity root_;
};

}  // namespace warder::tests
