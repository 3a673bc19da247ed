// Which files the harvest takes, and which it does not.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/component/report/harvest_fixture.h"

namespace warder::report {
namespace {

TEST_F(Harvest, CollectsWhatThePatternsMeanSmallestFirst) {
  writeText(work("out/big.txt"), std::string(5000, 'b'));
  writeText(work("out/deep/small.txt"), "s");
  writeText(work("report.pdf"), "pdf");
  writeText(work("src/other.c"), "no");
  const auto all = collect({"out/**", "report.pdf", "missing/*.x"});
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.order,
            (std::vector<std::string>{"out/deep/small.txt", "report.pdf", "out/big.txt"}));
  EXPECT_EQ(all.files.at("out/big.txt"), std::string(5000, 'b'));
  EXPECT_EQ(all.skipped.at("missing/*.x"), "nothing matches this pattern");
}

TEST_F(Harvest, NeverFollowsALinkOutOrIn) {
  writeText(folder_.path + "/secret", "key");
  writeText(work("out/real"), "fine");
  fs::create_symlink("../../secret", work("out/link"));
  fs::create_symlink(folder_.path, work("out/folder"));
  fs::create_symlink("out", work("alias"));
  const auto all = collect({"out/**", "alias/**"});
  EXPECT_EQ(all.files.size(), 1u);
  EXPECT_EQ(all.files.at("out/real"), "fine");
  EXPECT_EQ(all.skipped.at("out/link"), "is a symbolic link");
  EXPECT_EQ(all.skipped.at("out/folder"), "is a symbolic link");
  EXPECT_EQ(all.skipped.at("alias"), "is a symbolic link");
}

TEST_F(Harvest, PipesAndSocketsAreSaidAndDoNotHang) {
  fs::create_directories(work("out"));
  ASSERT_EQ(::mkfifo(work("out/pipe").c_str(), 0644), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{AF_UNIX, {}};
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", work("out/socket").c_str());
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto all = collect({"out/*"});
  ::close(socket);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.skipped.at("out/pipe"), "is a pipe");
  EXPECT_EQ(all.skipped.at("out/socket"), "is a socket");
}

TEST_F(Harvest, SparseTerabyteIsTooLargeAndTheSmallOnesStillCome) {
  writeText(work("out/small"), "s");
  writeText(work("out/sparse"), "");
  ASSERT_EQ(::truncate(work("out/sparse").c_str(), 1LL << 40), 0);
  const auto all = collect({"out/**"});
  EXPECT_EQ(all.files.size(), 1u);
  EXPECT_EQ(all.skipped.at("out/sparse"), "would exceed results.max_size");
}

TEST_F(Harvest, TakesAsMuchAsMaxSizeAndNotOneByteMore) {
  writeText(work("a"), std::string(400, 'a'));
  writeText(work("b"), std::string(600, 'b'));
  EXPECT_EQ(collect({"*"}, 1000).files.size(), 2u);
  const auto less = collect({"*"}, 999);
  EXPECT_EQ(less.files.size(), 1u);
  EXPECT_EQ(less.skipped.at("b"), "would exceed results.max_size");
}

TEST_F(Harvest, OddNamesArrive) {
  writeText(work("out/a\xff b"), "1");
  writeText(work("out/gr\xc3\xbc\xc3\x9f"), "2");
  writeText(work("out/.hidden"), "3");
  const auto all = collect({"out/**"});
  EXPECT_EQ(all.files.at("out/a%ff b"), "1");
  EXPECT_EQ(all.files.at("out/gr\xc3\xbc\xc3\x9f"), "2");
  EXPECT_EQ(all.files.at("out/.hidden"), "3");
}

TEST_F(Harvest, FileOfManyMebibytesArrivesWhole) {
  std::string bytes(9 << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 97) bytes[i] = static_cast<char>(i);
  writeText(work("large"), bytes);
  EXPECT_EQ(collect({"large"}, 10 << 20).files.at("large"), bytes);
}

}  // namespace
}  // namespace warder::report
