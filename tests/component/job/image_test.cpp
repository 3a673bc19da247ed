// Programs in an unpacked image (agent.rootfs), in place, and what BC-095 asks for.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/job/executable.h"
#include "supervisor/job/job_files.h"

namespace warder::job {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Image : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "names the loaders of x86-64";
#endif
    char name[] = "/tmp/image_XXXXXX";
    folder_ = ::mkdtemp(name);
    ::chmod(folder_.c_str(), 0755);
    root_ = folder_ + "/root";
    for (const char* path : {"/usr/bin", "/etc", "/lib64", "/var/lib", "/opt"})
      fs::create_directories(root_ + path);
    fs::create_directory(folder_ + "/repo");
    fs::create_symlink("usr/bin", root_ + "/bin");
    write("root/usr/bin/sh", elf("/lib64/ld-linux-x86-64.so.2"), 0755);
    write("root/lib64/ld-linux-x86-64.so.2", elf(""), 0755);
  }
  void TearDown() override {
    fs::remove_all(folder_);
  }

  void write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    std::ofstream(folder_ + "/" + name) << text;
    ::chmod((folder_ + "/" + name).c_str(), mode);
  }

  /// This machine's `true` with another loader's name in it; without a name, a static program.
  static std::string elf(const std::string& loader) {
    std::ifstream file("/bin/true", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const std::string old = "/lib64/ld-linux-x86-64.so.2";
    const std::size_t at = bytes.find(old);
    if (loader.empty()) {
      const std::string type("\x03\0\0\0\x04\0\0\0", 8);  // PT_INTERP, readable
      bytes.replace(bytes.find(type), 8, std::string("\x04\0\0\0\x04\0\0\0", 8));
    } else {
      bytes.replace(at, old.size(), loader + std::string(old.size() - loader.size(), '\0'));
    }
    return bytes;
  }

  JobSpec job(const std::string& name) const {
    JobSpec job;
    job.agent.workspace = folder_ + "/repo";
    job.agent.executables = {name};
    job.agent.root = root_;
    return job;
  }
  static std::string find(const JobSpec& job) {
    const auto found = resolveExecutable(job);
    return found ? *found : std::string(nameOf(found.error().kind)) + ": " + found.error().doing;
  }
  std::string find(const std::string& name) const {
    return find(job(name));
  }

  std::string folder_;
  std::string root_;
};

TEST_F(Image, ProgramsAreLookedUpInsideOfIt) {
  EXPECT_EQ(find("sh"), "/usr/bin/sh");
  EXPECT_EQ(find("/bin/sh"), "/bin/sh");
  EXPECT_THAT(find("python3"),
              HasSubstr("not_found: the agent's program \"python3\" is not there"));
}

TEST_F(Image, LinksAreReadInsideOfIt) {
  fs::create_symlink("/usr/bin/sh", root_ + "/usr/bin/absolute");
  fs::create_symlink("../../../../../../usr/bin/sh", root_ + "/usr/bin/upwards");
  fs::create_symlink("/usr/bin/true", root_ + "/usr/bin/machine");
  EXPECT_EQ(find("absolute"), "/usr/bin/absolute");
  EXPECT_EQ(find("upwards"), "/usr/bin/upwards");
  EXPECT_THAT(find("machine"), HasSubstr("/usr/bin/true is not there"));
}

TEST_F(Image, PlacesThatAreTheBoxsOwnHoldNothingOfIt) {
  fs::create_directories(root_ + "/tmp");
  write("root/tmp/tool", "#!/bin/sh\n", 0755);
  EXPECT_THAT(find("/tmp/tool"), HasSubstr("/tmp/tool, where the box has files of its own"));
}

TEST_F(Image, TheWorkspaceAndReadOnlyPathsLieOverIt) {
  write("repo/run", "#!/bin/sh\n", 0755);
  EXPECT_EQ(find("./run"), "/workspace/run");
  fs::create_directory(folder_ + "/tools");
  write("tools/mine", "#!/bin/sh\n", 0755);
  JobSpec with = job("mine");
  with.agent.read_only = {folder_ + "/tools"};
  EXPECT_EQ(find(with), folder_ + "/tools/mine");
}

TEST_F(Image, Bc095AMissingLoaderIsNamedWithTheBuildToTake) {
  write("root/usr/bin/agent", elf("/lib/ld-musl-x86_64.so.1"), 0755);
  EXPECT_EQ(find("agent"),
            "not_found: the agent's program \"agent\": /usr/bin/agent needs the loader "
            "/lib/ld-musl-x86_64.so.1, which is not in the box; it is built for musl and this root "
            "has glibc: take its build for glibc");
  fs::remove(root_ + "/lib64/ld-linux-x86-64.so.2");
  EXPECT_THAT(find("sh"), HasSubstr("take a static build of the program"));
}

TEST_F(Image, Bc095AMissingInterpreterIsNamed) {
  write("root/usr/bin/a", "#!/usr/bin/python3\n", 0755);
  write("root/usr/bin/env", elf(""), 0755);
  write("root/usr/bin/b", "#!/usr/bin/env node\n", 0755);
  write("root/usr/bin/c", "#!/usr/bin/env -S node --x\n", 0755);
  EXPECT_THAT(find("a"), HasSubstr("not_found: the agent's program \"a\": /usr/bin/a is a script "
                                   "for /usr/bin/python3, which is not in the box"));
  EXPECT_THAT(find("b"), HasSubstr("is a script for \"node\", which is not in /usr/local/bin"));
  EXPECT_THAT(find("c"), HasSubstr("is a script for \"node\""));
}

TEST_F(Image, Bc095AnInterpreterThatCannotStartIsNamedToo) {
  write("root/usr/bin/sh", elf("/lib/ld-musl-x86_64.so.1"), 0755);
  write("root/usr/bin/a", "#!/usr/bin/sh\n", 0755);
  EXPECT_THAT(find("a"),
              HasSubstr("the interpreter of the agent's program \"a\": /usr/bin/sh needs "
                        "the loader"));
  write("root/usr/bin/loop", "#!/usr/bin/loop\n", 0755);
  EXPECT_THAT(find("loop"), HasSubstr("scripts of scripts"));
}

TEST_F(Image, Bc095ModeAndMachineAreNamed) {
  write("root/usr/bin/plain", "#!/bin/sh\n", 0644);
  EXPECT_THAT(find("plain"), HasSubstr("config: the agent's program \"plain\": " + root_ +
                                       "/usr/bin/plain is not executable for uid 1000"));
  std::string arm = elf("");
  arm[18] = '\xb7';
  write("root/usr/bin/arm", arm, 0755);
  EXPECT_THAT(find("arm"), HasSubstr("is a program for AArch64, and this machine is"));
}

TEST_F(Image, Bc095AnEmptyPathIsNamed) {
  JobSpec with = job("sh");
  with.agent.env["PATH"] = "";
  EXPECT_THAT(find(with), HasSubstr("agent.env.PATH is empty"));
  with.agent.executables = {"/usr/bin/sh"};
  EXPECT_EQ(find(with), "/usr/bin/sh");
  write("root/opt/mine", "#!/bin/sh\n", 0755);
  with.agent.env["PATH"] = "/nowhere:/opt";
  with.agent.executables = {"mine"};
  EXPECT_EQ(find(with), "/opt/mine");
}

TEST_F(Image, AFolderThatIsClosedToTheAgentIsNamed) {
  if (!hasOwnUid(User{})) GTEST_SKIP() << "needs root with uid 1000 mapped";
  write("root/opt/mine", "#!/bin/sh\n", 0755);
  EXPECT_EQ(find("/opt/mine"), "/opt/mine");
  ::chmod((root_ + "/opt").c_str(), 0700);
  EXPECT_THAT(find("/opt/mine"), HasSubstr("uid 1000 may not enter the folder " + root_ + "/opt"));
}

TEST_F(Image, InPlaceEverythingHasItsOwnName) {
  JobSpec here = job("sh");
  here.agent.root = "/";
  EXPECT_EQ(find(here), "/usr/bin/sh");
  write("repo/run", "#!/bin/sh\n", 0755);
  here.agent.executables = {"./run"};
  EXPECT_EQ(find(here), folder_ + "/repo/run");
  here.agent.path = {folder_ + "/repo"};
  here.agent.executables = {"run"};
  EXPECT_EQ(find(here), folder_ + "/repo/run");
  here.agent.executables = {"sh"};
  EXPECT_THAT(find(here), HasSubstr("looked in " + folder_ + "/repo"));
}

TEST_F(Image, TheJobIsRefusedAnImageThatIsNone) {
  write("image.tar", "x");
  JobReading reading;
  reading.job = job("sh");
  const auto faults = [&] {
    std::string all;
    for (const auto& fault : checkFiles(reading)) all += fault.sentence + "\n";
    return all;
  };
  EXPECT_EQ(faults(), "");
  reading.job.agent.root = folder_ + "/none";
  EXPECT_THAT(faults(), HasSubstr("agent.rootfs: there is no folder " + folder_ + "/none"));
  reading.job.agent.root = folder_ + "/image.tar";
  EXPECT_THAT(faults(), HasSubstr("unpack the image"));
  fs::create_symlink("/", folder_ + "/slash");
  reading.job.agent.root = folder_ + "/slash";
  EXPECT_THAT(faults(), HasSubstr("leads to this machine's own root"));
  reading.job.agent.root = "/sys";
  EXPECT_THAT(faults(), HasSubstr("never shown"));
  write("root/etc/key", "sk-test-key");
  reading.job.agent.root = root_;
  reading.job.secrets = {{"a", "a", FileSource{root_ + "/etc/key"}, "", ""}};
  EXPECT_THAT(faults(), HasSubstr("which the agent can read"));
}

}  // namespace
}  // namespace warder::job
