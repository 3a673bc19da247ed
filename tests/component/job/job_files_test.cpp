// Checks of a job against real files. The permission tests need root for other owners.
#include "supervisor/job/job_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "supervisor/base/fd.h"
#include "supervisor/job/executable.h"

namespace warder::job {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Self-signed, made for this test; its key was thrown away.
constexpr const char* kCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBgzCCASmgAwIBAgIUa+nBuovPW/4hE2pNr/ecoc+7VQEwCgYIKoZIzj0EAwIw\n"
    "FjEUMBIGA1UEAwwLd2FyZGVyLXRlc3QwIBcNMjYxMTMwMDQxMjEzWhgPMjEyNjEx\n"
    "MDYwNDEyMTNaMBYxFDASBgNVBAMMC3dhcmRlci10ZXN0MFkwEwYHKoZIzj0CAQYI\n"
    "KoZIzj0DAQcDQgAEukpKsIqe8mwhiAU4HLftAWFfTOdaTtp+/M2SKVqYayAMYej7\n"
    "Tuf0Tc8DVDQD+Alh5++gmAZXItfgQEQunv8YvqNTMFEwHQYDVR0OBBYEFN+cZsCE\n"
    "Ts0grLCwMuE2Q+0i1vabMB8GA1UdIwQYMBaAFN+cZsCETs0grLCwMuE2Q+0i1vab\n"
    "MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAKNFqGLSu5KO8UqL\n"
    "x/VkYbdZ2ND1evur2fkWkrVtFIXKAiBb0gv18OLjcLZVCFtXN85C66w0Ffof1iDn\n"
    "fZvWseDAKQ==\n"
    "-----END CERTIFICATE-----\n";

class JobFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/job_files_XXXXXX";
    folder_ = ::mkdtemp(name);
    ::chmod(folder_.c_str(), 0755);
    fs::create_directory(folder_ + "/repo");
    write("key", "sk-test-key");
    write("job.yaml", "version: 1\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    std::ofstream(folder_ + "/" + name) << text;
    ::chmod((folder_ + "/" + name).c_str(), mode);
  }

  /// A sound job in the test's folder.
  JobReading job() const {
    JobReading reading;
    reading.job.file = folder_ + "/job.yaml";
    reading.job.agent.workspace = folder_ + "/repo";
    reading.job.agent.executables = {"sh"};
    reading.job.results.directory = folder_ + "/results";
    reading.job.secrets = {{"anthropic", "anthropic", FileSource{folder_ + "/key"}, "", ""}};
    return reading;
  }

  static std::string render(const base::Faults& faults) {
    std::string all;
    for (const auto& fault : faults) all += base::render(fault) + "\n";
    return all;
  }
  static std::string faultsOf(const JobReading& reading) { return render(checkFiles(reading)); }

  std::string secretFaults(const std::string& path) const {
    JobReading reading = job();
    reading.job.secrets[0].from = FileSource{path};
    return faultsOf(reading);
  }

  std::string folder_;
};

TEST_F(JobFiles, ASoundJobHasNoFault) {
  EXPECT_EQ(faultsOf(job()), "");
}

TEST_F(JobFiles, SecretFilesAreRefusedOneSentenceEach) {
  write("empty", "");
  write("large", std::string(kMaxSecretBytes + 3, 'x'));
  write("largest", std::string(kMaxSecretBytes + 2, 'x'));  // with a line end
  write("short", "1234567");
  write("shortest", "12345678");
  EXPECT_THAT(secretFaults(folder_ + "/short"),
              HasSubstr("is shorter than 8 bytes, which is no key"));
  EXPECT_EQ(secretFaults(folder_ + "/shortest"), "");
  ::mkfifo((folder_ + "/fifo").c_str(), 0600);
  EXPECT_THAT(secretFaults(folder_ + "/none"), HasSubstr("No such file or directory"));
  EXPECT_THAT(secretFaults(folder_ + "/empty"), HasSubstr("is empty"));
  EXPECT_THAT(secretFaults(folder_ + "/repo"), HasSubstr("is a folder"));
  EXPECT_THAT(secretFaults(folder_ + "/fifo"), HasSubstr("is no regular file"));
  EXPECT_THAT(secretFaults(folder_ + "/large"), HasSubstr("larger than 64 KiB"));
  EXPECT_EQ(secretFaults(folder_ + "/largest"), "");
}

TEST_F(JobFiles, LengthsOfATokensFileAreTestedOnBothSides) {
  const auto with = [this](std::size_t length) {
    write("token", std::string(length, 't'));
    JobReading reading = job();
    reading.job.results.to = {{"https://c.example", FileSource{folder_ + "/token"}, ""}};
    return faultsOf(reading);
  };
  EXPECT_THAT(with(0), HasSubstr("results.to[0].token: " + folder_ + "/token is empty"));
  EXPECT_THAT(with(15), HasSubstr("is shorter than 16 bytes, which is no token"));
  EXPECT_EQ(with(16), "");
  EXPECT_EQ(with(4098), "");  // with a line end
  EXPECT_THAT(with(4099), HasSubstr("is larger than 4 KiB, which is no token"));
  EXPECT_THAT(with(64 * 1024 + 1), HasSubstr("is larger than 4 KiB, which is no token"));
}

TEST_F(JobFiles, ASecretThatTheAgentWouldSeeIsRefused) {
  write("repo/key", "sk-test-key");
  fs::create_symlink(folder_ + "/repo/key", folder_ + "/link");
  EXPECT_THAT(secretFaults(folder_ + "/repo/key"), HasSubstr("which the agent can read"));
  EXPECT_THAT(secretFaults(folder_ + "/link"), HasSubstr("which the agent can read"));
  JobReading reading = job();
  reading.job.agent.read_only = {folder_};
  EXPECT_THAT(faultsOf(reading), HasSubstr("lies below " + folder_));
}

TEST_F(JobFiles, WorkspaceMustBeAFolderThatMayBeShown) {
  const auto with = [this](const std::string& path) {
    JobReading reading = job();
    reading.job.agent.workspace = path;
    return faultsOf(reading);
  };
  EXPECT_THAT(with(folder_ + "/none"), HasSubstr("there is no folder"));
  EXPECT_THAT(with(folder_ + "/key"), HasSubstr("is no folder"));
  for (const char* path : {"/", "/etc", "/root", "/proc", "/sys", "/dev", "/dev/shm", "/run",
                           "/home", "/var", "/tmp"}) {
    EXPECT_THAT(with(path), HasSubstr("never shown")) << path;
  }
  EXPECT_THAT(with("/usr"), HasSubstr("this machine's programs"));
}

TEST_F(JobFiles, ReadOnlyPathsThatGiveTheMachineAwayAreRefused) {
  const auto with = [this](const std::string& path) {
    JobReading reading = job();
    reading.job.secrets.clear();
    reading.job.agent.read_only = {path};
    return faultsOf(reading);
  };
  EXPECT_EQ(with(folder_), "");
  EXPECT_EQ(with("/usr/share"), "");
  EXPECT_THAT(with(folder_ + "/none"), HasSubstr("is not there"));
  fs::create_symlink("/proc", folder_ + "/innocent");
  EXPECT_THAT(with(folder_ + "/innocent"), HasSubstr("/proc"));
  for (const char* path : {"/", "/proc/self", "/dev/null", "/etc", "/root", "/home", "/run"}) {
    EXPECT_THAT(with(path), HasSubstr("never shown")) << path;
  }
  write("docker.sock", "");
  EXPECT_THAT(with(folder_), HasSubstr("as good as root"));
  EXPECT_THAT(with(folder_ + "/docker.sock"), HasSubstr("as good as root"));
  sockaddr_un address{AF_UNIX, {}};
  const std::string path = folder_ + "/s";
  path.copy(address.sun_path, path.size());
  base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(with(path), HasSubstr("is a socket or a device"));
}

TEST_F(JobFiles, FilesThatTheAgentCouldWriteAreRefusedWhenItHasItsOwnUid) {
  JobReading reading = job();
  reading.policy.from = PolicyAsk::From::File;
  reading.policy.name = folder_ + "/policy.yaml";
  reading.preset_file = folder_ + "/preset.yaml";
  write("policy.yaml", "", 0666);
  write("preset.yaml", "", 0666);
  ::chmod((folder_ + "/job.yaml").c_str(), 0666);
  ::chmod((folder_ + "/key").c_str(), 0622);
  const std::string faults = faultsOf(reading);
  if (!hasOwnUid(reading.job.agent.user)) GTEST_SKIP() << "needs root with uid 1000 mapped";
  EXPECT_THAT(faults, HasSubstr("the job " + folder_ + "/job.yaml can be written by"));
  EXPECT_THAT(faults, HasSubstr("the policy " + folder_ + "/policy.yaml can be written by"));
  EXPECT_THAT(faults, HasSubstr("the preset " + folder_ + "/preset.yaml can be written by"));
  EXPECT_THAT(faults, HasSubstr("secrets.anthropic: the file " + folder_ + "/key can be written"));
}

TEST_F(JobFiles, AFolderThatTheAgentCouldWriteIsRefusedUnlessItIsSticky) {
  if (!hasOwnUid(User{})) GTEST_SKIP() << "needs root with uid 1000 mapped";
  ::chmod(folder_.c_str(), 0777);
  EXPECT_THAT(faultsOf(job()), HasSubstr("lies in a folder that the agent's uid 1000 can write"));
  ::chmod(folder_.c_str(), 01777);
  EXPECT_EQ(faultsOf(job()), "");
  ASSERT_EQ(::chown(folder_.c_str(), 1000, 1000), 0);
  EXPECT_THAT(faultsOf(job()), HasSubstr("lies in a folder"));
}

TEST_F(JobFiles, WhatIsHandedOverMustBeThere) {
  JobReading reading = job();
  ::unsetenv("WARDER_TEST_KEY");
  reading.job.secrets = {{"a", "a", EnvSource{"WARDER_TEST_KEY"}, "", ""},
                         {"b", "b", FdSource{999}, "", ""}};
  const std::string faults = render(checkHandedOver(reading));
  EXPECT_THAT(faults, HasSubstr("WARDER_TEST_KEY is not set or empty"));
  EXPECT_THAT(faults, HasSubstr("descriptor 999 is not open"));
  ::setenv("WARDER_TEST_KEY", "", 1);
  EXPECT_THAT(render(checkHandedOver(reading)), HasSubstr("is not set or empty"));
  ::setenv("WARDER_TEST_KEY", "1234567", 1);
  EXPECT_THAT(render(checkHandedOver(reading)), HasSubstr("is shorter than 8 bytes"));
  ::setenv("WARDER_TEST_KEY", "12345678", 1);
  reading.job.secrets[1].from = FdSource{2};
  EXPECT_EQ(render(checkHandedOver(reading)), "");
}

TEST_F(JobFiles, ACertificateFileHoldsAtLeastOneCertificate) {
  const auto with = [this](const std::string& text) {
    write("ca.pem", text);
    JobReading reading = job();
    reading.job.secrets[0].ca_file = folder_ + "/ca.pem";
    return faultsOf(reading);
  };
  const std::string sound = kCertificate;
  const std::string no =
      "secrets.anthropic.ca_file: " + folder_ + "/ca.pem is no file with PEM certificates in it";
  EXPECT_EQ(with(sound), "");
  EXPECT_EQ(with("# my roots\n" + sound + sound), "");
  EXPECT_THAT(with(""), HasSubstr(no));
  EXPECT_THAT(with("hello\n"), HasSubstr(no));
  EXPECT_THAT(with("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), HasSubstr(no));
  EXPECT_THAT(with("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"),
              HasSubstr(no));
  EXPECT_THAT(with(sound.substr(0, sound.size() / 2)), HasSubstr(no));
  JobReading reading = job();
  reading.job.secrets[0].ca_file = folder_ + "/none.pem";
  reading.job.results.to = {{"https://c.example", FdSource{2}, folder_ + "/key"}};
  EXPECT_THAT(faultsOf(reading), HasSubstr("secrets.anthropic.ca_file: "));
  EXPECT_THAT(faultsOf(reading),
              HasSubstr("results.to[0].ca_file: " + folder_ + "/key is no file"));
}

TEST_F(JobFiles, ResultsAreLeftWhereAFolderCanBe) {
  const auto with = [this](const std::string& path) {
    JobReading reading = job();
    reading.job.results.directory = path;
    return faultsOf(reading);
  };
  fs::create_symlink("none", folder_ + "/lost");
  fs::create_symlink("/proc/self", folder_ + "/innocent");
  fs::create_symlink("repo", folder_ + "/link");
  for (const char* path : {"", "/a", "/a/b", "/repo", "/repo/a", "/link", "/link/a"}) {
    EXPECT_EQ(with(folder_ + path), "") << path;
  }
  EXPECT_EQ(with("/process/x"), "");
  EXPECT_THAT(with("/"), HasSubstr("results.dir: / is the root of this machine"));
  for (const std::string& path :
       {std::string("/proc"), std::string("/proc/1/x"), std::string("/sys"), std::string("/sys/x"),
        std::string("/dev"), std::string("/dev/shm/x"), folder_ + "/innocent/x"}) {
    EXPECT_THAT(with(path), HasSubstr("which keeps no files")) << path;
  }
  EXPECT_THAT(with(folder_ + "/key"), HasSubstr("/key is there and is no folder"));
  EXPECT_THAT(with(folder_ + "/key/a/b"), HasSubstr("/key is no folder, so nothing can lie below"));
  EXPECT_THAT(with(folder_ + "/lost"), HasSubstr("/lost is a link that leads nowhere"));
  EXPECT_THAT(with(folder_ + "/lost/a"), HasSubstr("/lost is a link that leads nowhere"));
}

TEST_F(JobFiles, AJobInTheWorkspaceIsAWarning) {
  JobReading reading = job();
  EXPECT_EQ(render(warnAboutFiles(reading)), "");
  reading.job.agent.workspace = folder_;
  EXPECT_THAT(render(warnAboutFiles(reading)), HasSubstr("lies in the workspace"));
}

class Executable : public JobFiles {
 protected:
  void program(const std::string& name, const std::string& text = "#!/bin/sh\n",
               mode_t mode = 0755) {
    fs::create_directories(fs::path(folder_ + "/" + name).parent_path());
    write(name, text, mode);
  }
  /// The path in the box, or the refusal.
  std::string find(const std::string& name, const std::vector<std::string>& read_only = {}) const {
    JobReading reading = job();
    reading.job.agent.executables = {name};
    reading.job.agent.read_only = read_only;
    const auto found = resolveExecutable(reading.job);
    return found ? *found : found.error().sentence();
  }
};

TEST_F(Executable, IsFoundInTheProgramFolders) {
  EXPECT_EQ(find("sh"), "/usr/bin/sh");
  EXPECT_EQ(find("/bin/sh"), "/bin/sh");
}

TEST_F(Executable, IsFoundInReadOnlyFoldersAndTheirNodeModules) {
  program("tools/mine");
  program("tools/node_modules/pkg/cli", "#!/bin/sh\n");
  fs::create_directories(folder_ + "/tools/node_modules/.bin");
  fs::create_symlink("../pkg/cli", folder_ + "/tools/node_modules/.bin/theirs");
  EXPECT_EQ(find("mine", {folder_ + "/tools"}), folder_ + "/tools/mine");
  EXPECT_EQ(find("theirs", {folder_ + "/tools"}), folder_ + "/tools/node_modules/.bin/theirs");
  EXPECT_EQ(find("mine", {folder_ + "/tools/mine"}), folder_ + "/tools/mine");
}

TEST_F(Executable, TheFirstNameThatIsThereIsTaken) {
  JobReading reading = job();
  reading.job.agent.executables = {"no-such-program-1", "sh"};
  EXPECT_EQ(*resolveExecutable(reading.job), "/usr/bin/sh");
  reading.job.agent.executables = {"no-such-program-1", "no-such-program-2"};
  EXPECT_THAT(resolveExecutable(reading.job).error().sentence(),
              HasSubstr("\"no-such-program-1\", \"no-such-program-2\" is not there; looked in"));
}

TEST_F(Executable, InTheWorkspaceItIsNamedAsTheBoxNamesIt) {
  program("repo/run.sh");
  EXPECT_EQ(find("./run.sh"), "/workspace/run.sh");
  EXPECT_EQ(find("/workspace/run.sh"), "/workspace/run.sh");
  EXPECT_THAT(find("./none.sh"), HasSubstr("is not there"));
  EXPECT_THAT(find("../key"), HasSubstr("is not there"));
}

TEST_F(Executable, WhatTheBoxDoesNotShowIsRefusedWithWhatToAdd) {
  program("hidden/mine");
  EXPECT_THAT(find(folder_ + "/hidden/mine"),
              HasSubstr("add " + folder_ + "/hidden to agent.read_only"));
  fs::create_directory(folder_ + "/shown");
  fs::create_symlink("../hidden/mine", folder_ + "/shown/mine");
  EXPECT_THAT(find("mine", {folder_ + "/shown"}),
              HasSubstr(folder_ + "/hidden/mine, which the box does not show"));
  EXPECT_EQ(find("mine", {folder_ + "/shown", folder_ + "/hidden"}), folder_ + "/shown/mine");
}

TEST_F(Executable, LinksThatLoopOrLeadNowhereAreRefused) {
  fs::create_symlink("b", folder_ + "/repo/a");
  fs::create_symlink("a", folder_ + "/repo/b");
  fs::create_symlink("none", folder_ + "/repo/c");
  EXPECT_THAT(find("./a"), HasSubstr("loop of links"));
  EXPECT_THAT(find("./c"), HasSubstr("is not there"));
}

TEST_F(Executable, ModeAndFormatAreChecked) {
  program("repo/plain", "#!/bin/sh\n", 0644);
  program("repo/text", "hello\n");
  program("repo/empty", "");
  program("repo/none", "#!\n");
  program("repo/lost", "#!/opt/none/python\n");
  program("repo/env", "#!/usr/bin/env no-such-program\n");
  program("repo/fine", "#!/usr/bin/env sh\n");
  program("repo/foreign", std::string("\x7f"
                                      "ELF\x02\x01\x01",
                                      7) +
                              std::string(11, '\0') + "\x28" + std::string(45, '\0'));
  EXPECT_THAT(find("./plain"), HasSubstr("is not executable for uid 1000"));
  EXPECT_THAT(find("./text"), HasSubstr("is no program (no ELF header and no #!)"));
  EXPECT_THAT(find("./empty"), HasSubstr("is no program"));
  EXPECT_THAT(find("./none"), HasSubstr("no interpreter"));
  EXPECT_THAT(find("./lost"),
              HasSubstr("is a script for /opt/none/python, which is not in the box"));
  EXPECT_THAT(find("./env"), HasSubstr("\"no-such-program\", which is not in"));
  EXPECT_EQ(find("./fine"), "/workspace/fine");
  EXPECT_THAT(find("./foreign"), HasSubstr("is a program for 32-bit ARM, and this machine is"));
  EXPECT_THAT(find("/workspace"), HasSubstr("is no regular file"));
}

}  // namespace
}  // namespace warder::job
