// The run's certificate authority: what its certificates say, and which of them are kept.
#include "secrets/ca/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "secrets/ca/certificates.h"

namespace warder::ca {
namespace {

using testing::HasSubstr;

Certificate fromPem(const std::string& pem) {
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  Certificate certificate(PEM_read_bio_X509(memory, nullptr, nullptr, nullptr));
  BIO_free(memory);
  return certificate;
}

X509* leafOf(const RunAuthority::LeafContext& context) {
  return SSL_CTX_get0_certificate(context->native_handle());
}

/// OpenSSL's own verdict in its strictest mode, at `time`.
int verify(X509* leaf, X509* root, std::time_t time) {
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, root);
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, leaf, nullptr);
  X509_VERIFY_PARAM* how = X509_STORE_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_purpose(how, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_time(how, time);
  X509_verify_cert(context);
  const int verdict = X509_STORE_CTX_get_error(context);
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return verdict;
}

class Authority : public testing::Test {
 protected:
  Authority() : authority_(*RunAuthority::make("run-42", [this] { return now_; })) {
    root_ = fromPem(authority_.pem());
  }
  RunAuthority::LeafContext leaf(const std::string& host) { return *authority_.leafFor(host); }

  std::time_t now_ = 2'000'000'000;
  RunAuthority authority_;
  Certificate root_;
};

TEST_F(Authority, IsNamedSoThatAPersonSeesWhatItIs) {
  char name[256] = {};
  X509_NAME_oneline(X509_get_subject_name(root_.get()), name, sizeof name);
  EXPECT_THAT(name, HasSubstr("Warder run CA run-42"));
  EXPECT_EQ(X509_check_ca(root_.get()), 1);
}

TEST_F(Authority, SignsLeavesThatTheStrictestClientTakes) {
  for (const std::string host : {"api.example.com", "a_b.example", "192.0.2.7", "2001:db8::7"})
    EXPECT_EQ(verify(leafOf(leaf(host)), root_.get(), now_), X509_V_OK) << host;
}

TEST_F(Authority, NamesExactlyOneHost) {
  const auto name = leaf("api.example.com");
  EXPECT_EQ(X509_check_host(leafOf(name), "api.example.com", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leafOf(name), "x.api.example.com", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_host(leafOf(name), "example.com", 0, 0, nullptr), 0);
  const auto v4 = leaf("192.0.2.7");
  EXPECT_EQ(X509_check_ip_asc(leafOf(v4), "192.0.2.7", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leafOf(v4), "192.0.2.8", 0), 0);
  EXPECT_EQ(X509_check_ip_asc(leafOf(leaf("2001:db8::7")), "2001:db8::7", 0), 1);
}

TEST_F(Authority, IsValidADayBeforeItWasMadeAndForAsLongAsARunMayLast) {
  const auto kept = leaf("api.example.com");
  constexpr std::time_t kHour = 3600;
  EXPECT_EQ(verify(leafOf(kept), root_.get(), now_ - 23 * kHour), X509_V_OK);
  EXPECT_EQ(verify(leafOf(kept), root_.get(), now_ - 25 * kHour), X509_V_ERR_CERT_NOT_YET_VALID);
  EXPECT_EQ(verify(leafOf(kept), root_.get(), now_ + kLeafValidFor - kHour), X509_V_OK);
  EXPECT_EQ(verify(leafOf(kept), root_.get(), now_ + kLeafValidFor + kHour),
            X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_F(Authority, KeepsALeafAndMakesItAnewWhenTheClockLeftItsTime) {  // BC-122
  const auto first = leaf("api.example.com");
  EXPECT_EQ(leaf("api.example.com"), first);
  now_ += 12 * 3600;
  EXPECT_EQ(leaf("api.example.com"), first);
  now_ += kLeafValidFor;
  const auto later = leaf("api.example.com");
  EXPECT_NE(later, first);
  EXPECT_EQ(verify(leafOf(later), root_.get(), now_), X509_V_OK);
  now_ -= kLeafValidFor;
  EXPECT_NE(leaf("api.example.com"), later);
}

TEST_F(Authority, ForgetsTheLeafThatWasUsedLongestAgo) {
  const auto oldest = leaf("host-0.example");
  const auto second = leaf("host-1.example");
  for (std::size_t i = 2; i < kMostLeaves; ++i) leaf("host-" + std::to_string(i) + ".example");
  EXPECT_EQ(leaf("host-0.example"), oldest);
  leaf("one-more.example");
  EXPECT_EQ(authority_.leavesKept(), kMostLeaves);
  EXPECT_EQ(leaf("host-0.example"), oldest);
  EXPECT_NE(leaf("host-1.example"), second);
}

TEST_F(Authority, MakesNoCertificateForWhatIsNoHost) {
  const std::string longest = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
                              std::string(63, 'c') + "." + std::string(61, 'd');
  ASSERT_EQ(longest.size(), kLongestHost);
  EXPECT_TRUE(authority_.leafFor(longest));
  EXPECT_FALSE(authority_.leafFor(longest + "d"));
  EXPECT_FALSE(authority_.leafFor(std::string(64, 'a') + ".example"));
  for (const std::string host : {"", ".", "a..b", "a.", "a,DNS:b.example", "*.example", "A.example",
                                 "a b", "[::1]", "fe80::1%eth0", "a\nb"})
    EXPECT_FALSE(authority_.leafFor(host)) << host;
}

TEST_F(Authority, UsesOneKeyForAllLeavesAndAnotherForItself) {
  const auto one = leaf("a.example"), two = leaf("b.example");
  EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(leafOf(one)), X509_get0_pubkey(leafOf(two))), 1);
  EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(leafOf(one)), X509_get0_pubkey(root_.get())), 0);
}

TEST(Authorities, KeepTheirKeysInMemoryOfTheirOwnAndGiveItBack) {
  { const auto first = RunAuthority::make("run-0"); }
  const std::size_t before = CRYPTO_secure_used();
  {
    auto authority = RunAuthority::make("run-1");
    const std::size_t keys = CRYPTO_secure_used();
    EXPECT_GT(keys, before);
    for (std::size_t i = 0; i < 2 * kMostLeaves; ++i)
      EXPECT_TRUE(authority->leafFor("host-" + std::to_string(i) + ".example"));
    // What the leaves take leaves room for thousands of connections.
    EXPECT_LT(CRYPTO_secure_used() - keys, kKeyMemory / 8);
  }
  EXPECT_EQ(CRYPTO_secure_used(), before);
}

TEST(Authorities, AreDifferentForEachRun) {
  const auto one = RunAuthority::make("run-1"), two = RunAuthority::make("run-1");
  EXPECT_NE(one->pem(), two->pem());
  EXPECT_TRUE(RunAuthority::make(std::string(300, 'r')));
}

}  // namespace
}  // namespace warder::ca
