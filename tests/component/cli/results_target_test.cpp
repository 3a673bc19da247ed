// Where results go must not be the agent's to say.
#include "supervisor/cli/results_target.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace warder::cli {
namespace {

namespace fs = std::filesystem;

class ResultsTarget : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/warder-results-XXXXXX";
    folder_ = ::mkdtemp(name);
    fs::create_directory(folder_ / "workspace");
    fs::create_directory(folder_ / "victim");
    job_.agent.workspace = folder_ / "workspace";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  job::JobSpec job_;
};

TEST_F(ResultsTarget, IsMadeWithTheFoldersAboveIt) {
  job_.results.directory = folder_ / "a/b/results";
  ASSERT_TRUE(openResultsFolder(job_));
  EXPECT_TRUE(fs::is_directory(job_.results.directory));
}

TEST_F(ResultsTarget, MayLieBelowTheWorkspace) {
  job_.results.directory = folder_ / "workspace/out/results";
  ASSERT_TRUE(openResultsFolder(job_));
  EXPECT_TRUE(fs::is_directory(job_.results.directory));
}

TEST_F(ResultsTarget, IsRefusedWhereTheWorkspaceHoldsALink) {
  fs::create_symlink(folder_ / "victim", folder_ / "workspace/results");
  job_.results.directory = folder_ / "workspace/results";
  EXPECT_FALSE(openResultsFolder(job_));
  job_.results.directory = folder_ / "workspace/results/deeper";
  EXPECT_FALSE(openResultsFolder(job_));
  EXPECT_TRUE(fs::is_empty(folder_ / "victim"));
}

TEST_F(ResultsTarget, IsRefusedWhereALinkLeadsIntoTheWorkspace) {
  fs::create_symlink(folder_ / "workspace", folder_ / "elsewhere");
  job_.results.directory = folder_ / "elsewhere/results";
  auto opened = openResultsFolder(job_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().sentence().find("agent.workspace"), std::string::npos);
}

TEST_F(ResultsTarget, StaysWhereItWasWhateverBecomesOfItsPath) {
  job_.results.directory = folder_ / "workspace/results";
  auto opened = openResultsFolder(job_);
  ASSERT_TRUE(opened);
  fs::rename(folder_ / "workspace/results", folder_ / "workspace/moved");
  fs::create_symlink(folder_ / "victim", folder_ / "workspace/results");
  std::ofstream(pathOf(*opened) + "/report") << "x";
  EXPECT_TRUE(fs::exists(folder_ / "workspace/moved/report"));
  EXPECT_TRUE(fs::is_empty(folder_ / "victim"));
}

TEST_F(ResultsTarget, IsRefusedWithItsNameWhereAFileStandsInTheWay) {
  std::ofstream(folder_ / "file") << "x";
  job_.results.directory = folder_ / "file/results";
  auto opened = openResultsFolder(job_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().sentence().find("file/results"), std::string::npos);
}

TEST_F(ResultsTarget, BelowAnyFolderThatAnAgentMayWriteNoLinkIsFollowed) {
  fs::create_directory_symlink(folder_ / "victim", folder_ / "warder-results");
  EXPECT_FALSE(openResultsFolder(folder_ / "warder-results", folder_));
  EXPECT_TRUE(openResultsFolder(folder_ / "other", folder_));
  EXPECT_TRUE(fs::is_empty(folder_ / "victim"));
}

}  // namespace
}  // namespace warder::cli
