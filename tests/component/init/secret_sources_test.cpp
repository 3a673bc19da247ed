// Files that change and programs that are asked, with real files, real programs and the real stage.
#include "supervisor/init/secret_sources.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "secrets/source_stage.h"
#include "supervisor/base/wire.h"

namespace warder::init {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// The stage in a forked child, with the descriptors that a launcher would give it.
base::Result<launch::StartedStage> forkStage(const launch::StageStart& start) {
  auto control = base::makeMessagePair();
  auto config = base::sealedText("config", base::json::serialize(start.config));
  if (!control || !config) return control.error();
  const pid_t pid = ::fork();
  if (pid == 0) {
    int number = 100;
    for (const int fd : {config->get(), control->theirs.get(), start.extra_fds.at(0)})
      ::dup2(fd, number++);
    for (int i = 0; i < 3; ++i) ::dup2(100 + i, 3 + i);
    ::close_range(6, ~0U, 0);
    ::_exit(secrets::sourceMain());
  }
  return launch::StartedStage{"source", pid, std::move(control->ours)};
}

class Sources : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sources_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override {
    sources_.reset();
    fds_.clear();
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    fs::remove_all(folder_);
  }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  /// A new file under the old name, as whoever rotates secrets makes one.
  void replace(const std::string& name, const std::string& text) {
    write(name + ".new", text);
    fs::rename(folder_ + "/" + name + ".new", folder_ + "/" + name);
  }
  void addFile(const std::string& path) {
    job_.secrets.push_back({.name = "key", .provider = "x", .from = job::FileSource{path}});
    fds_.push_back(std::move(*base::openFile(path, O_RDONLY)));
  }
  void addProgram(const std::string& script,
                  std::chrono::milliseconds timeout = std::chrono::minutes(1)) {
    job::ExecSource exec{
        {write("helper", "#!/bin/sh\n" + script, 0700), "one", "two"}, {}, timeout};
    exec.env = {{"REGION", "eu"}, {"PATH", "/usr/bin:/bin"}};
    job_.secrets.push_back({.name = "key", .provider = "x", .from = exec});
    fds_.push_back(std::move(*base::openFile("/dev/null", O_RDONLY)));
  }
  void make() {
    std::vector<int> numbers;
    for (const auto& fd : fds_) numbers.push_back(fd.get());
    SecretSources::HelperUser user;
    user.home = "/home/somebody";
    user.start = forkStage;
    sources_ = std::make_unique<SecretSources>(context_, job_, numbers, user);
  }
  void watch() {
    SecretSources::Handlers handlers;
    handlers.renewed = [this](const std::string& secret, int fd) {
      told_.push_back(secret + " is " + base::readAll(fd, 65536).value());
    };
    handlers.failed = [this](const std::string& secret, const std::string& sentence) {
      told_.push_back(secret + " failed: " + sentence);
    };
    sources_->watch(handlers);
  }
  /// What a program gave, or what went wrong.
  std::string gathered() {
    context_.restart();
    std::optional<std::string> got;
    sources_->gather([&](SecretSources::Gathered result) {
      got = result ? base::readAll(result->at(0).get(), 65536).value() : result.error().sentence();
    });
    while (!got && context_.run_one() > 0) {
    }
    return got.value_or("nothing");
  }
  std::string next() {
    context_.restart();
    while (told_.empty() && context_.run_one() > 0) {
    }
    if (told_.empty()) return "nothing";
    std::string first = told_.front();
    told_.erase(told_.begin());
    return first;
  }

  std::string folder_;
  job::JobSpec job_;
  std::vector<base::UniqueFd> fds_;
  boost::asio::io_context context_;
  std::vector<std::string> told_;
  std::unique_ptr<SecretSources> sources_;
};

TEST_F(Sources, a_file_that_is_replaced_is_handed_on_each_time) {
  addFile(write("key", "first"));
  make();
  watch();
  EXPECT_TRUE(told_.empty());
  for (const char* text : {"second", "third"}) {
    replace("key", text);
    EXPECT_EQ(next(), std::string("key is ") + text);
  }
}

TEST_F(Sources, a_change_between_the_start_and_the_first_look_is_not_missed) {
  addFile(write("key", "first"));
  make();
  replace("key", "second");
  watch();
  EXPECT_EQ(next(), "key is second");
}

TEST_F(Sources, what_kubernetes_projects_is_seen_when_the_link_of_its_folder_moves) {
  fs::create_directory(folder_ + "/..1");
  fs::create_directory(folder_ + "/..2");
  write("..1/key", "first");
  write("..2/key", "second");
  fs::create_symlink("..1", folder_ + "/..data");
  fs::create_symlink("..data/key", folder_ + "/key");
  addFile(folder_ + "/key");
  make();
  watch();
  fs::create_symlink("..2", folder_ + "/..tmp");
  fs::rename(folder_ + "/..tmp", folder_ + "/..data");
  EXPECT_EQ(next(), "key is second");
}

TEST_F(Sources, a_file_that_is_away_for_a_moment_is_no_news_and_one_that_is_no_file_is) {
  addFile(write("key", "first"));
  make();
  watch();
  fs::remove(folder_ + "/key");
  sources_->renew("key");
  EXPECT_TRUE(told_.empty());
  fs::create_directory(folder_ + "/key");
  EXPECT_THAT(next(), HasSubstr("no regular file any more"));
}

TEST_F(Sources, a_file_that_is_asked_for_is_looked_at_at_once) {
  addFile(write("key", "first"));
  make();
  watch();
  sources_->renew("key");
  EXPECT_TRUE(told_.empty());  // nothing is new
  replace("key", "second");
  sources_->renew("key");
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0], "key is second");
}

TEST_F(Sources, a_program_gets_its_words_and_a_clean_environment_and_its_output_is_the_secret) {
  // BC-089: nothing of the supervisor's own environment, whatever its names.
  ::setenv("AWS_SECRET_ACCESS_KEY", "inherited", 1);
  addProgram("echo \"$1 $2\"; env | sort | grep -v '^PWD=\\|^_=\\|^SHLVL='; pwd; cat");
  make();
  EXPECT_EQ(gathered(),
            "one two\nHOME=/home/somebody\nLANG=C.UTF-8\nPATH=/usr/bin:/bin\nREGION=eu\n/\n");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
}

TEST_F(Sources, a_program_that_fails_says_why_in_its_own_last_line) {
  addProgram("echo hidden; echo first >&2; printf 'not \\033logged in' >&2; exit 3");
  make();
  const std::string why = gathered();
  EXPECT_THAT(why, HasSubstr("ended with 3; it said last: not \\x1blogged in"));
  EXPECT_THAT(why, HasSubstr("secret key"));
  EXPECT_THAT(why, Not(HasSubstr("hidden")));
  EXPECT_THAT(why, Not(HasSubstr("first")));
}

TEST_F(Sources, of_what_a_program_says_256_bytes_are_repeated) {
  addProgram("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1");
  make();
  const std::string why = gathered();
  EXPECT_THAT(why, HasSubstr(std::string(secrets::kMaxHelperWords, 'x')));
  EXPECT_THAT(why, Not(HasSubstr(std::string(secrets::kMaxHelperWords + 1, 'x'))));
}

TEST_F(Sources, a_program_that_does_not_end_is_ended_with_all_that_it_started) {
  addProgram("sleep 1000 & echo $$ > " + folder_ + "/pid; sleep 1000",
             std::chrono::milliseconds(300));
  make();
  EXPECT_THAT(gathered(), HasSubstr("did not end within 300ms"));
}

TEST_F(Sources, what_a_program_leaves_running_does_not_hold_its_output) {
  addProgram("sleep 1000 & echo the-secret");
  make();
  EXPECT_EQ(gathered(), "the-secret\n");
}

TEST_F(Sources, a_program_that_cannot_be_executed_is_a_sentence) {
  addProgram("");
  write("helper", "#!/no/such/interpreter\n", 0700);
  make();
  EXPECT_THAT(gathered(), HasSubstr("cannot execute"));
  fs::remove(folder_ + "/helper");
  make();
  EXPECT_THAT(gathered(), HasSubstr("no program that can be executed"));
}

TEST_F(Sources, a_program_is_asked_again_and_only_once_at_a_time) {
  addProgram("echo x >> " + folder_ + "/count; wc -l < " + folder_ + "/count");
  make();
  EXPECT_EQ(gathered(), "1\n");
  watch();
  sources_->renew("key");
  sources_->renew("key");
  EXPECT_EQ(sources_->stages().size(), 1u);
  EXPECT_EQ(next(), "key is 2\n");
}

TEST_F(Sources, a_program_that_fails_later_is_told_and_nothing_is_handed_on) {
  addProgram("test -e " + folder_ + "/second && exit 4; touch " + folder_ + "/second; echo good");
  make();
  EXPECT_EQ(gathered(), "good\n");
  watch();
  sources_->renew("key");
  EXPECT_THAT(next(), HasSubstr("failed: exec: " + folder_ + "/helper ended with 4"));
}

TEST_F(Sources, nothing_is_heard_after_the_end) {
  addProgram("echo good; sleep 1000");
  make();
  bool heard = false;
  sources_->gather([&](SecretSources::Gathered) { heard = true; });
  sources_->stop();
  context_.run();
  EXPECT_FALSE(heard);  // TearDown waits for the stage and its program, which end with their link
}

}  // namespace
}  // namespace warder::init
