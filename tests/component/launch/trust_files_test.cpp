// Reading the system's certificates and writing ours, on real files.
#include "supervisor/launch/trust_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/fd.h"

namespace warder::launch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TrustFolder : public testing::Test {
 protected:
  TrustFolder() {
    char pattern[] = "/tmp/warder-trust-test-XXXXXX";
    root_ = ::mkdtemp(pattern);
  }
  ~TrustFolder() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void link(const std::string& target, const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    fs::create_symlink(target, root_ + path);
  }

  std::string root_;
};

TEST_F(TrustFolder, ReadsTheFirstBundleThatIsThere) {
  EXPECT_EQ(*readSystemBundle(root_), "");
  put("/etc/ssl/cert.pem", "third");
  EXPECT_EQ(*readSystemBundle(root_), "third");
  put("/etc/pki/tls/certs/ca-bundle.crt", "second");
  EXPECT_EQ(*readSystemBundle(root_), "second");
  put("/etc/ssl/certs/ca-certificates.crt", "first");
  EXPECT_EQ(*readSystemBundle(root_), "first");
}

TEST_F(TrustFolder, ReadsLinksOfAnImageInsideOfIt) {
  put("/etc/pki/ca-trust/extracted/pem/bundle", "of the image");
  link("/etc/pki/ca-trust/extracted/pem/bundle", "/etc/ssl/cert.pem");
  EXPECT_EQ(*readSystemBundle(root_), "of the image");
  EXPECT_EQ(*resolveInRoot(root_, "/etc/ssl/cert.pem"),
            root_ + "/etc/pki/ca-trust/extracted/pem/bundle");
  // This one is there on the machine, not in the image.
  link("/proc/version", "/etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(*readSystemBundle(root_), "of the image");
  EXPECT_EQ(*resolveInRoot(root_, "/etc/ssl/certs/ca-certificates.crt"), "");
}

TEST_F(TrustFolder, WaitsForNoPipeAndTakesNoFolder) {
  fs::create_directories(root_ + "/etc/ssl/certs/ca-certificates.crt");
  fs::create_directories(root_ + "/etc/pki/tls/certs");
  ASSERT_EQ(::mkfifo((root_ + "/etc/pki/tls/certs/ca-bundle.crt").c_str(), 0644), 0);
  EXPECT_EQ(*readSystemBundle(root_), "");
}

TEST_F(TrustFolder, HoldsTheLimitOfABundleOnBothSides) {
  put("/etc/ssl/cert.pem", std::string(kLargestBundle, 'x'));
  EXPECT_EQ(readSystemBundle(root_)->size(), kLargestBundle);
  put("/etc/ssl/cert.pem", std::string(kLargestBundle + 1, 'x'));
  const auto refused = readSystemBundle(root_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().sentence(), HasSubstr("/etc/ssl/cert.pem"));
}

TEST_F(TrustFolder, WritesFilesThatEverybodyReadsAndNobodyWrites) {
  const mode_t before = ::umask(077);
  const auto written = writeTrustFiles(root_, {"bundle", "added", "java", "", true});
  ::umask(before);
  ASSERT_TRUE(written);
  const TrustPaths paths(root_);
  EXPECT_EQ(*base::readFile(paths.bundle, 100), "bundle");
  EXPECT_EQ(*base::readFile(paths.added, 100), "added");
  EXPECT_EQ(*base::readFile(paths.java_store, 100), "java");
  EXPECT_FALSE(fs::exists(paths.wgetrc));
  struct stat facts {};
  ASSERT_EQ(::stat(paths.bundle.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0444u);
}

TEST_F(TrustFolder, ReplacesAndFollowsNothing) {
  put("/elsewhere", "kept");
  link(root_ + "/elsewhere", "/bundle.pem");
  EXPECT_FALSE(writeTrustFiles(root_, {"bundle", "added", "java", "", true}));
  EXPECT_EQ(*base::readFile(root_ + "/elsewhere", 100), "kept");
}

TEST(MakeTrustFolder, MakesOneThatEverybodyMayEnterAndOnlyOnce) {
  const std::string run = "test-" + std::to_string(::getpid());
  const auto folder = makeTrustFolder(run);
  ASSERT_TRUE(folder) << folder.error().sentence();
  EXPECT_EQ(fs::status(*folder).permissions(), fs::perms(0755));
  const auto second = makeTrustFolder(run);
  if (second) {
    EXPECT_NE(*second, *folder);
    fs::remove_all(*second);
  }
  fs::remove_all(*folder);
}

}  // namespace
}  // namespace warder::launch
