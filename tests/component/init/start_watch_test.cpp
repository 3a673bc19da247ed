// The signs that an agent gives, read from real files and real processes.
#include "supervisor/init/start_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

namespace warder::init {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class StartSigns : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/start_XXXXXX";
    run_dir_ = ::mkdtemp(name);
    fs::create_directory(run_dir_ + "/output");
  }
  void TearDown() override { fs::remove_all(run_dir_); }

  void write(const std::string& stream, const std::string& text) {
    std::ofstream(run_dir_ + "/output/" + stream) << text;
  }

  std::string run_dir_;
};

TEST_F(StartSigns, OutputIsCountedOverBothStreams) {
  EXPECT_EQ(signsOf(run_dir_, {}).output_bytes, 0U);
  write("stdout", "12345");
  write("stderr", "123");
  EXPECT_EQ(signsOf(run_dir_, {}).output_bytes, 8U);
}

TEST_F(StartSigns, CpuIsThatOfTheProcessesAndOfChildrenThatEnded) {
  const pid_t child = ::fork();
  if (child == 0) {
    while (::clock() < CLOCKS_PER_SEC / 4) {
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const AgentSigns signs = signsOf(run_dir_, {::getpid(), 999'999'999});
  EXPECT_GE(signs.cpu, milliseconds(200));
  EXPECT_EQ(signs.processes, 2U);
}

TEST_F(StartSigns, TheLastLineIsTheLastThatIsNotBlank) {
  EXPECT_EQ(lastOutputLine(run_dir_), "");
  write("stdout", "\n \n");
  EXPECT_EQ(lastOutputLine(run_dir_), "");
  write("stdout", "first\nDo you trust this folder? [y/N] ");
  EXPECT_EQ(lastOutputLine(run_dir_), "Do you trust this folder? [y/N]");
  write("stdout", "first\nsecond\n\n");
  EXPECT_EQ(lastOutputLine(run_dir_), "second");
  write("stdout", std::string(10'000, 'x') + "\nlast\xff\n");
  EXPECT_EQ(lastOutputLine(run_dir_), "last\xef\xbf\xbd");
}

TEST_F(StartSigns, TheLengthOfTheLineIsTestedOnBothSides) {
  write("stdout", std::string(kMaxStallLine, 'x'));
  EXPECT_EQ(lastOutputLine(run_dir_).size(), kMaxStallLine);
  write("stdout", std::string(kMaxStallLine + 1, 'x'));
  EXPECT_EQ(lastOutputLine(run_dir_).size(), kMaxStallLine);
}

TEST_F(StartSigns, TheStreamThatWasWrittenToLastIsTheOneThatTells) {
  write("stdout", "out\n");
  write("stderr", "err\n");
  fs::last_write_time(run_dir_ + "/output/stdout",
                      fs::last_write_time(run_dir_ + "/output/stderr") + std::chrono::seconds(1));
  EXPECT_EQ(lastOutputLine(run_dir_), "out");
}

TEST(StartWatch, Bc043AStallIsToldOnceWithTheLastLine) {
  boost::asio::io_context context;
  std::vector<base::Event> events;
  int looks = 0;
  StartWatch::Eyes eyes;
  eyes.signs = [&] { return ++looks, AgentSigns{5, milliseconds(0), 1}; };
  eyes.last_line = [] { return "Trust? [y/N]"; };
  eyes.emit = [&](base::Event event) { events.push_back(std::move(event)); };
  StartWatch watch(context, eyes, milliseconds(24));
  watch.start();
  context.run();  // ends when there is nothing more to wait for
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, "agent.waiting_for_input");
  EXPECT_EQ(events[0].data.at("last_line").as_string(), "Trust? [y/N]");
  EXPECT_NE(std::string(events[0].data.at("sentence").as_string()).find("its last line: Trust?"),
            std::string::npos);
}

TEST(StartWatch, AFirstCallEndsTheWatch) {
  boost::asio::io_context context;
  StartWatch::Eyes eyes;
  eyes.signs = [] { return AgentSigns(); };
  eyes.last_line = [] { return ""; };
  eyes.emit = [](base::Event) { FAIL() << "the start was over"; };
  StartWatch watch(context, eyes, milliseconds(24));
  watch.start();
  watch.stop();
  context.run();
}

}  // namespace
}  // namespace warder::init
