// BC-097: an agent that updates itself while it runs, with the stage that reads in a real process.
#include "supervisor/init/program_watch.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/wire.h"
#include "supervisor/journal/digest.h"

namespace warder::init {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// The stage in a forked child, with the descriptors that a launcher would give it.
base::Result<launch::StartedStage> forkReader(int program, int package) {
  auto control = base::makeMessagePair();
  auto config = base::sealedText("config", "{}");
  if (!control || !config) return control.error();
  const pid_t pid = ::fork();
  if (pid == 0) {
    int number = 100;
    for (const int fd : {config->get(), control->theirs.get(), program, package})
      ::dup2(fd, number++);
    for (int i = 0; i < 4; ++i) ::dup2(100 + i, 3 + i);
    ::close_range(7, ~0U, 0);
    ::_exit(report::programFactsMain());
  }
  return launch::StartedStage{"program", pid, std::move(control->ours)};
}

class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/program_XXXXXX";
    folder_ = ::mkdtemp(name);
    ::chmod(folder_.c_str(), 0755);
    job_.agent.workspace = folder_;
    write("agent", "#!/bin/sh\necho one\n");
  }
  void TearDown() override {
    watch_.reset();
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    fs::remove_all(folder_);
  }

  void write(const std::string& name, const std::string& text, mode_t mode = 0755) {
    std::ofstream(folder_ + "/" + name) << text;
    ::chmod((folder_ + "/" + name).c_str(), mode);
  }

  void start(ProgramWatch::StartReader reader = forkReader, const std::string& path = "agent") {
    auto emit = [this](base::Event event) { events_.push_back(std::move(event)); };
    watch_ = std::make_unique<ProgramWatch>(context_, job_, emit, std::move(reader));
    watch_->start("/workspace/" + path);
  }
  /// Lets the watch work until so many events were emitted.
  void until(std::size_t count) {
    while (events_.size() < count && context_.run_one() > 0) {
    }
    context_.restart();
    ASSERT_EQ(events_.size(), count);
  }
  void finish(std::chrono::milliseconds limit = kProgramLimit) {
    bool done = false;
    watch_->finish([&] { done = true; }, limit);
    EXPECT_FALSE(done) << "never from inside of the call";
    while (!done && context_.run_one() > 0) {
    }
    EXPECT_TRUE(done);
  }
  std::string text(std::size_t event, const char* key) const {
    const auto* value = events_.at(event).data.if_contains(key);
    return value == nullptr ? "" : std::string(value->as_string());
  }
  bool changed() const { return events_.back().data.at("changed").as_bool(); }
  static std::string digestOf(const std::string& text) {
    return "sha256:" + journal::sha256Hex(text);
  }

  std::string folder_;
  job::JobSpec job_;
  boost::asio::io_context context_;
  std::vector<base::Event> events_;
  std::unique_ptr<ProgramWatch> watch_;
};

TEST_F(Program, IsToldAtStartAndEndWithPathAndDigest) {
  start();
  until(1);
  EXPECT_EQ(events_[0].type, "agent.program");
  EXPECT_EQ(text(0, "at"), "start");
  EXPECT_EQ(text(0, "path"), "/workspace/agent");
  EXPECT_EQ(text(0, "sha256"), digestOf("#!/bin/sh\necho one\n"));
  EXPECT_EQ(watch_->stage(), -1);
  finish();
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_EQ(text(1, "at"), "end");
  EXPECT_EQ(text(1, "sha256"), text(0, "sha256"));
  EXPECT_FALSE(changed());
}

TEST_F(Program, ARunThatIsOverBeforeItWasReadWaitsForThat) {
  start();
  EXPECT_GT(watch_->stage(), 0);
  finish();
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_EQ(text(0, "sha256"), digestOf("#!/bin/sh\necho one\n"));
  EXPECT_FALSE(changed());
}

TEST_F(Program, AnUpdateInMidRunIsFlaggedWithBothVersions) {
  write("package.json", R"({"name":"agent","version":"1.0.0"})", 0644);
  start();
  until(1);
  EXPECT_EQ(text(0, "version"), "1.0.0");
  write("agent.new", "#!/bin/sh\necho two\n");
  write("package.json", R"({"name":"agent","version":"1.1.0"})", 0644);
  fs::rename(folder_ + "/agent.new", folder_ + "/agent");
  finish();
  EXPECT_TRUE(changed());
  EXPECT_EQ(text(1, "version"), "1.1.0");
  EXPECT_EQ(text(1, "sha256"), digestOf("#!/bin/sh\necho two\n"));
  EXPECT_THAT(
      text(1, "sentence"),
      HasSubstr("the agent's program /workspace/agent changed while it ran: 1.0.0 (sha256:"));
  EXPECT_THAT(text(1, "sentence"), HasSubstr("became 1.1.0 (sha256:"));
}

TEST_F(Program, AnUpdateThatIsFasterThanTheReaderIsFlaggedToo) {
  start();
  write("agent.new", "#!/bin/sh\necho two\n");
  fs::rename(folder_ + "/agent.new", folder_ + "/agent");
  finish();
  EXPECT_EQ(text(0, "sha256"), digestOf("#!/bin/sh\necho one\n"));
  EXPECT_TRUE(changed());
}

TEST_F(Program, ALinkThatWasLedToAnotherVersionIsAChange) {
  write("v1", "#!/bin/sh\necho one\n");
  write("v2", "#!/bin/sh\necho two\n");
  fs::create_symlink("v1", folder_ + "/link");
  start(forkReader, "link");
  until(1);
  EXPECT_EQ(text(0, "real_path"), "/workspace/v1");
  fs::remove(folder_ + "/link");
  fs::create_symlink("v2", folder_ + "/link");
  finish();
  EXPECT_TRUE(changed());
  EXPECT_EQ(text(1, "real_path"), "/workspace/v2");
}

TEST_F(Program, AProgramThatIsGoneIsAChangeWithItsReason) {
  start();
  until(1);
  fs::remove(folder_ + "/agent");
  fs::create_symlink("nowhere", folder_ + "/agent");
  finish();
  EXPECT_TRUE(changed());
  EXPECT_THAT(text(1, "unread"), HasSubstr("/workspace/nowhere is not there"));
  EXPECT_THAT(text(1, "sentence"), HasSubstr("/workspace/nowhere is not there"));
}

TEST_F(Program, WhatChangedAboutAFileButNotInItIsNoChange) {
  start();
  until(1);
  fs::create_hard_link(folder_ + "/agent", folder_ + "/other");
  ::chmod((folder_ + "/agent").c_str(), 0700);
  finish();
  EXPECT_FALSE(changed());
  EXPECT_EQ(text(1, "sha256"), text(0, "sha256"));
}

TEST_F(Program, ANameThatWasLedToAFileThatIsNoProgramPutsNoDigestIntoTheReport) {
  write("secret", "s3cr3t", 0600);
  start();
  until(1);
  fs::remove(folder_ + "/agent");
  fs::create_symlink("secret", folder_ + "/agent");
  finish();
  EXPECT_TRUE(changed());
  EXPECT_EQ(text(1, "sha256"), "");
  EXPECT_THAT(text(1, "unread"), HasSubstr("is not executable"));
}

TEST_F(Program, AReaderThatDiesOrDoesNotStartIsNamedAndEndsNothing) {
  start([](int, int) { return base::Error{base::Kind::Kernel, "cannot start a stage", 0}; });
  finish();
  EXPECT_EQ(text(0, "unread"), "cannot start a stage");
  EXPECT_FALSE(changed());
  events_.clear();
  start([](int, int) -> base::Result<launch::StartedStage> {
    auto control = base::makeMessagePair();
    return launch::StartedStage{"program", -1, std::move(control->ours)};
  });
  finish();
  EXPECT_EQ(text(0, "unread"), "the stage that reads it ended without a word");
}

TEST_F(Program, AReaderThatTakesTooLongIsGivenUp) {
  base::UniqueFd kept;
  start([&](int, int) -> base::Result<launch::StartedStage> {
    auto control = base::makeMessagePair();
    kept = std::move(control->theirs);  // and never says a word
    return launch::StartedStage{"program", -1, std::move(control->ours)};
  });
  finish(std::chrono::milliseconds(1));
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_EQ(text(0, "unread"), "it could not be read in time");
  EXPECT_EQ(text(1, "unread"), "it could not be read in time");
  EXPECT_FALSE(changed());
}

TEST_F(Program, AWatchThatWasNeverStartedIsDoneAtOnce) {
  watch_ = std::make_unique<ProgramWatch>(
      context_, job_, [](base::Event) { FAIL(); }, forkReader);
  finish();
}

TEST(ProgramVersion, IsReadFromAPackageAndKeptShort) {
  EXPECT_EQ(report::versionOf(R"({"version":"2.1.332"})"), "2.1.332");
  EXPECT_EQ(report::versionOf(R"({"version":"\u001b[2J"})"), "\\x1b[2J");
  EXPECT_EQ(report::versionOf(R"({"version":")" + std::string(128, '1') + R"("})").size(), 128U);
  EXPECT_EQ(report::versionOf(R"({"version":")" + std::string(129, '1') + R"("})").size(), 128U);
  for (const char* text : {"", "{", "[]", "{}", R"({"version":1})"})
    EXPECT_EQ(report::versionOf(text), "") << text;
}

}  // namespace
}  // namespace warder::init
