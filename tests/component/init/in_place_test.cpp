// What an agent's workspace may be where no box is built around it.
#include "supervisor/init/in_place.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/run_folder.h"

namespace warder::init {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(WorkspaceInPlace, IsNoFolderOfTheKernel) {
  for (const char* folder :
       {"/proc", "/proc/1", "/proc/self/task", "/sys", "/sys/fs", "/dev", "/dev/shm"})
    EXPECT_THAT(whyNoWorkspace(folder), HasSubstr("which keeps no files")) << folder;
}

TEST(WorkspaceInPlace, IsNotTheRoot) {
  for (const char* name : {"/", "/usr/..", "/proc/self/root"})
    EXPECT_THAT(whyNoWorkspace(name), HasSubstr("is the root of this place")) << name;
}

TEST(WorkspaceInPlace, MayBeAnyOtherFolderAndIsFollowedByItsLinks) {
  const support::TemporaryFolder folder;
  EXPECT_EQ(whyNoWorkspace(folder.path), "");
  EXPECT_EQ(whyNoWorkspace(folder.path + "/not-there"), "");
  fs::create_directories(folder.path + "/proc/1");
  EXPECT_EQ(whyNoWorkspace(folder.path + "/proc/1"), "");
  fs::create_directory_symlink("/proc/1", folder.path + "/link");
  EXPECT_THAT(whyNoWorkspace(folder.path + "/link"), HasSubstr("lies in /proc"));
}

}  // namespace
}  // namespace warder::init
