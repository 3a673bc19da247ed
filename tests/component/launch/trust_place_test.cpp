// What an agent is given to trust in each kind of place, and what is told about it.
#include "supervisor/launch/trust_place.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/fd.h"
#include "supervisor/job/certificates.h"
#include "tests/support/test_ca.h"

namespace warder::launch {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string textOf(const std::string& path) {
  return base::readFile(path, kLargestBundle).value();
}

class TrustPlace : public testing::Test {
 protected:
  TrustPlace() {
    char pattern[] = "/tmp/warder-place-XXXXXX";
    image_ = ::mkdtemp(pattern);
    order_.ca_pem = textOf(run_.file());
  }
  ~TrustPlace() override {
    fs::remove_all(image_);
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  void putInImage(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(image_ + path).parent_path());
    std::ofstream(image_ + path) << text;
  }
  PreparedTrust inPlace() {
    auto prepared = trustInPlace(order_, "place-" + std::to_string(::getpid()));
    EXPECT_TRUE(prepared) << prepared.error().sentence();
    folder_ = prepared->folder;
    return std::move(*prepared);
  }
  static std::vector<std::string> rootsOf(const std::string& pem) {
    return job::certificatesOf(pem).value();
  }

  tests::TestCa run_, other_;
  std::string image_, folder_;
  TrustOrder order_;
};

TEST_F(TrustPlace, ShowsABoxTheRootsOfItsImage) {
  putInImage("/etc/ssl/cert.pem", textOf(other_.file()));
  const auto prepared = trustForBox(order_, image_);
  ASSERT_TRUE(prepared);
  EXPECT_THAT(
      rootsOf(prepared->trust.bundle),
      testing::UnorderedElementsAre(rootsOf(textOf(other_.file()))[0], rootsOf(order_.ca_pem)[0]));
  EXPECT_EQ(prepared->environment.set.at("SSL_CERT_FILE"), "/run/trust/bundle.pem");
  EXPECT_THAT(prepared->environment.warnings, IsEmpty());
}

TEST_F(TrustPlace, ShowsAnImageWithoutRootsTheMachines) {
  const auto prepared = trustForBox(order_, image_);
  ASSERT_TRUE(prepared);
  EXPECT_TRUE(prepared->trust.has_system_roots);
  EXPECT_GT(rootsOf(prepared->trust.bundle).size(), 10u);
}

TEST_F(TrustPlace, StartsNoRunWithABundleThatCannotBeRead) {  // BC-005
  putInImage("/etc/ssl/cert.pem", "-----BEGIN CERTIFICATE-----\nbroken");
  const auto refused = trustForBox(order_, image_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().sentence(), HasSubstr("the system's bundle"));
}

TEST_F(TrustPlace, GoesOnToTrustWhatThePlaceTrusted) {
  order_.inherited = {{"REQUESTS_CA_BUNDLE", other_.file()}};
  const auto prepared = inPlace();
  const auto other = rootsOf(textOf(other_.file()))[0];
  EXPECT_THAT(rootsOf(textOf(prepared.folder + "/bundle.pem")), Contains(other));
  EXPECT_THAT(rootsOf(textOf(prepared.folder + "/run-ca.pem")), Not(Contains(other)));
  EXPECT_EQ(prepared.environment.set.at("REQUESTS_CA_BUNDLE"), prepared.folder + "/bundle.pem");
  EXPECT_THAT(textOf(prepared.folder + "/wgetrc"),
              HasSubstr("ca_certificate = " + prepared.folder + "/bundle.pem"));
}

TEST_F(TrustPlace, TellsOfFilesThatCannotBeRead) {
  order_.inherited = {{"SSL_CERT_FILE", "/nowhere.pem"}, {"PIP_CERT", "/dev/zero"}};
  EXPECT_THAT(inPlace().environment.warnings,
              testing::ElementsAre(HasSubstr("/dev/zero"), HasSubstr("/nowhere.pem")));
}

TEST_F(TrustPlace, TellsOfChecksThatAreSwitchedOffAndOfProgramsThatItCannotReach) {  // BC-110
  putInImage("/usr/bin/firefox", "");
  putInImage("/etc/ssl/cert.pem", textOf(other_.file()));
  order_.job_env = {{"NODE_TLS_REJECT_UNAUTHORIZED", "0"}};
  order_.path = {"/usr/bin"};
  const auto prepared = trustForBox(order_, image_);
  ASSERT_TRUE(prepared);
  EXPECT_THAT(prepared->environment.warnings,
              testing::ElementsAre(HasSubstr("NODE_TLS_REJECT_UNAUTHORIZED"),
                                   HasSubstr("Firefox keeps certificates of its own")));
}

}  // namespace
}  // namespace warder::launch
