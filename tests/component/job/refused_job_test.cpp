// Whose word on results is taken when a job is refused.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/job/job_files.h"
#include "tests/support/run_folder.h"

namespace warder::job {
namespace {

class RefusedJob : public ::testing::Test {
 protected:
  void SetUp() override {
    ::chmod(folder_.c_str(), 0755);
    support::writeText(folder_ + "/job.yaml", "version: 1\n");
  }

  support::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path;
};

TEST_F(RefusedJob, OnlyRootCanChangeAFileOfRootsInAFolderOfRoots) {
  if (::geteuid() != 0) GTEST_SKIP() << "for an ordinary user it does not matter";
  const std::string file = folder_ + "/job.yaml";
  struct Case {
    mode_t file_mode, folder_mode;
    uid_t file_owner, folder_owner;
    gid_t group;
    bool alone;
  };
  const Case cases[] = {{0644, 0755, 0, 0, 0, true},      {0664, 0775, 0, 0, 0, true},
                        {0664, 0755, 0, 0, 1000, false},  {0646, 0755, 0, 0, 0, false},
                        {0644, 0755, 1000, 0, 0, false},  {0644, 0755, 0, 1000, 0, false},
                        {0644, 0777, 0, 0, 0, false},     {0644, 01777, 0, 0, 0, true},
                        {0644, 01777, 0, 1000, 0, false}, {0644, 0775, 0, 0, 1000, false}};
  for (const Case& each : cases) {
    ASSERT_EQ(::chown(file.c_str(), each.file_owner, each.group), 0);
    ASSERT_EQ(::chown(folder_.c_str(), each.folder_owner, each.group), 0);
    ASSERT_EQ(::chmod(file.c_str(), each.file_mode), 0);
    ASSERT_EQ(::chmod(folder_.c_str(), each.folder_mode), 0);
    EXPECT_EQ(onlyRootCanChange(file), each.alone)
        << std::oct << each.file_mode << " " << each.folder_mode << " " << each.file_owner << " "
        << each.folder_owner;
  }
  EXPECT_FALSE(onlyRootCanChange(folder_ + "/nothing"));
}

TEST_F(RefusedJob, ResultsHoldUnlessThatPartHasAFault) {
  const std::string rest = "version: 1\nagent: {comand: [x]}\npolicy: {}\n";
  const std::pair<std::string, bool> cases[] = {
      {rest, true},
      {rest + "results: {dir: out}\n", true},
      {rest + "results: {dir: out, pach: true}\n", false},
      {rest + "results: {to: [{collector: \"ftp://x\", token: {file: t}}]}\n", false},
      {rest + "results: {dir: a}\nresults: {dir: b}\n", false},
      {rest + "results: {dir: /proc/x}\n", false},
      {"version: [\n", false}};
  for (const auto& [text, holds] : cases) {
    support::writeText(folder_ + "/job.yaml", text);
    EXPECT_EQ(whyResultsDoNotHold(readJob(folder_ + "/job.yaml")).empty(), holds) << text;
  }
}

}  // namespace
}  // namespace warder::job
