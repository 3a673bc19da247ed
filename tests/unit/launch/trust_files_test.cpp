// What the files hold by which programs trust the run's CA.
#include "supervisor/launch/trust_files.h"

#include <gmock/gmock.h>

#include "supervisor/base/fd.h"
#include "supervisor/job/certificates.h"
#include "supervisor/launch/trust_java.h"
#include "tests/support/test_ca.h"

namespace warder::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAreArray;

std::string newRoot() {
  const tests::TestCa ca;
  return *base::readFile(ca.file(), kLargestBundle);
}

std::vector<std::string> rootsOf(const std::string& pem) {
  return job::certificatesOf(pem).value();
}

class Merge : public testing::Test {
 protected:
  std::string system_ = newRoot() + "# a comment\n" + newRoot();
  std::string run_ = newRoot();
  std::string extra_ = newRoot();
};

TEST_F(Merge, PutsTheSystemsRootsTheRunsCaAndTheJobsTogether) {  // BC-005
  const auto trust = mergeTrust({run_, {extra_}, system_});
  ASSERT_TRUE(trust);
  EXPECT_TRUE(trust->has_system_roots);
  EXPECT_THAT(rootsOf(trust->bundle), UnorderedElementsAreArray(rootsOf(system_ + run_ + extra_)));
  EXPECT_THAT(rootsOf(trust->added), ElementsAre(rootsOf(run_)[0], rootsOf(extra_)[0]));
  for (const auto& certificate : rootsOf(trust->bundle))
    EXPECT_THAT(trust->java_store, HasSubstr(certificate));
}

TEST_F(Merge, WritesWhatItReadByteForByte) {
  EXPECT_EQ(mergeTrust({run_, {}, ""})->bundle, run_);
}

TEST_F(Merge, HoldsEachCertificateOnce) {
  const auto trust = mergeTrust({run_, {run_, extra_}, system_ + run_ + system_});
  EXPECT_EQ(rootsOf(trust->bundle).size(), 4u);
}

TEST_F(Merge, FailsRatherThanLeaveTheSystemsRootsOut) {  // BC-005
  std::string broken = system_;
  broken.erase(100, 1);
  for (const std::string& bad : {broken, std::string("no certificates"), system_.substr(0, 400)}) {
    EXPECT_FALSE(mergeTrust({run_, {}, bad}));
    EXPECT_FALSE(mergeTrust({run_, {bad}, system_}));
    EXPECT_FALSE(mergeTrust({bad, {}, system_}));
  }
}

TEST_F(Merge, SaysWhenTheSystemHasNoRoots) {
  const auto trust = mergeTrust({run_, {}, ""});
  ASSERT_TRUE(trust);
  EXPECT_FALSE(trust->has_system_roots);
}

std::string fakeCertificate(std::size_t number) {
  // A sequence of one integer, in base64; TLS would not take it, the merge looks no further.
  const std::string der = {0x30,
                           0x05,
                           0x02,
                           0x03,
                           static_cast<char>(number >> 16),
                           static_cast<char>(number >> 8),
                           static_cast<char>(number)};
  std::string text(16, '\0');
  text.resize(static_cast<std::size_t>(EVP_EncodeBlock(
      reinterpret_cast<unsigned char*>(text.data()),
      reinterpret_cast<const unsigned char*>(der.data()), static_cast<int>(der.size()))));
  return "-----BEGIN CERTIFICATE-----\n" + text + "\n-----END CERTIFICATE-----\n";
}

TEST_F(Merge, TakesNoMoreRootsThanItsLimit) {
  std::string most;
  for (std::size_t i = 1; i < kMostRoots; ++i) most += fakeCertificate(i);
  EXPECT_TRUE(mergeTrust({run_, {}, most}));
  EXPECT_FALSE(mergeTrust({run_, {extra_}, most}));
}

TEST(JavaTrustStore, IsWrittenAsJavaWritesIt) {
  const std::string store = javaTrustStore({"0123"});
  const char expected[] =
      "\xFE\xED\xFE\xED\0\0\0\2\0\0\0\1\0\0\0\2\0\6root-1\0\0\0\0\0\0\0\0\0\5X.509\0\0\0\4"
      "0123";
  constexpr std::size_t kLength = sizeof expected - 1;
  EXPECT_EQ(store.substr(0, kLength), std::string(expected, kLength));
  EXPECT_EQ(store.size(), kLength + 20);
}

}  // namespace
}  // namespace warder::launch
