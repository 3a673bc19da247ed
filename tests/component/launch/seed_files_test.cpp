// BC-043: first-run dialogs are answered before they are asked; what is there is never overwritten.
#include "supervisor/launch/seed_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/fd.h"
#include "supervisor/base/wire.h"

namespace warder::launch {
namespace {

namespace fs = std::filesystem;
namespace json = base::json;

class SeedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/seed_XXXXXX";
    home_ = ::mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(home_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(home_ + "/" + name) << text;
  }
  std::string read(const std::string& name) const {
    const auto text = base::readFile(home_ + "/" + name, 4 << 20);
    return text ? *text : "(not there)";
  }
  base::Status seed(const std::string& path, const std::string& text) {
    return seedFiles(home_, {{path, *seedContent(text, "/workspace")}});
  }
  mode_t modeOf(const std::string& name) const {
    struct stat facts {};
    ::lstat((home_ + "/" + name).c_str(), &facts);
    return facts.st_mode & 07777;
  }

  std::string home_;
};

TEST_F(SeedFiles, AFileThatIsMissingIsMadeForItsOwnerAlone) {
  ASSERT_TRUE(seed(".config/agent/state.json", R"({"done":true,"in":{"${WORKSPACE}":1}})"));
  EXPECT_EQ(read(".config/agent/state.json"), "{\"done\":true,\"in\":{\"/workspace\":1}}\n");
  EXPECT_EQ(modeOf(".config/agent/state.json"), 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(home_ + "/.config/agent"), {}), 1);
}

TEST_F(SeedFiles, WhatIsThereStaysAndOnlyMissingKeysAreAdded) {
  write("a.json", R"({"done":false,"theme":"dark","in":{"/x":{"t":1}},"list":[1]})");
  ::chmod((home_ + "/a.json").c_str(), 0640);
  ASSERT_TRUE(
      seed("a.json", R"({"done":true,"new":2,"in":{"/x":{"t":9,"u":3},"/y":4},"list":[2]})"));
  EXPECT_EQ(read("a.json"),
            "{\"done\":false,\"theme\":\"dark\",\"in\":{\"/x\":{\"t\":1,\"u\":3},\"/y\":4},"
            "\"list\":[1],\"new\":2}\n");
  EXPECT_EQ(modeOf("a.json"), 0640U);
}

TEST_F(SeedFiles, AFileThatSaysItAllIsNotTouched) {
  const std::string text = "{ \"done\" : false }";
  write("a.json", text);
  ASSERT_TRUE(seed("a.json", R"({"done":true})"));
  EXPECT_EQ(read("a.json"), text);
}

TEST_F(SeedFiles, WhatIsNoJsonObjectIsLeftAsItIs) {
  for (const std::string& text : {std::string("[1]"), std::string("// comment\n{}"), std::string(),
                                  std::string("{\"a\":"), std::string(100, '[')}) {
    write("a.json", text);
    ASSERT_TRUE(seed("a.json", R"({"done":true})"));
    EXPECT_EQ(read("a.json"), text);
  }
}

TEST_F(SeedFiles, TheSizeOfAFileThatIsCompletedIsTestedOnBothSides) {
  const auto with = [&](std::size_t size) {
    write("a.json", "{\"a\":\"" + std::string(size - 8, 'x') + "\"}");
    EXPECT_TRUE(seed("a.json", R"({"done":true})"));
    return read("a.json").find("done") != std::string::npos;
  };
  EXPECT_TRUE(with(kLargestSeeded));
  EXPECT_FALSE(with(kLargestSeeded + 1));
}

TEST_F(SeedFiles, LinksAndPipesAreLeftAloneAndNeverWaitedFor) {
  write("elsewhere", "{}");
  fs::create_symlink("elsewhere", home_ + "/link.json");
  ::mkfifo((home_ + "/pipe.json").c_str(), 0600);
  ASSERT_TRUE(seed("link.json", R"({"done":true})"));
  ASSERT_TRUE(seed("pipe.json", R"({"done":true})"));
  EXPECT_EQ(read("elsewhere"), "{}");
  EXPECT_TRUE(fs::is_symlink(home_ + "/link.json"));
}

TEST_F(SeedFiles, AHomeThatCannotBeWrittenIsNamed) {
  write("file", "");
  const auto done = seed("file/a.json", R"({"done":true})");
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().sentence().find("file/a.json"), std::string::npos);
}

TEST(SeedContent, IsAnObjectWithTheWorkspaceFilledIn) {
  const auto content =
      seedContent(R"({"a ${WORKSPACE}":["${WORKSPACE}/x",{"b":"${WORKSPACE}"}],"n":1})", "/w");
  ASSERT_TRUE(content);
  EXPECT_EQ(json::serialize(*content), R"({"a /w":["/w/x",{"b":"/w"}],"n":1})");
  EXPECT_FALSE(seedContent("[]", "/w"));
  EXPECT_FALSE(seedContent("{", "/w"));
}

}  // namespace
}  // namespace warder::launch
