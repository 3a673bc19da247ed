#include "supervisor/report/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace warder::report {
namespace {

using namespace std::chrono_literals;

struct Ran {
  base::Result<CommandEnd> end;
  std::string output;
};

Ran run(const std::string& script, std::chrono::milliseconds time = 60s) {
  Command command{"/bin/sh", {"-c", script}, {"PATH=/usr/bin:/bin"}, "/"};
  std::string output;
  auto end = runCommand(command, std::chrono::steady_clock::now() + time,
                        [&output](std::string_view bytes) -> base::Status {
                          output += bytes;
                          return {};
                        });
  return {end, output};
}

TEST(ChildProcess, GivesOutputErrorsAndExitCode) {
  const Ran ran = run("echo out; echo err >&2; pwd; exit 7");
  ASSERT_TRUE(ran.end);
  EXPECT_EQ(ran.output, "out\n/\n");
  EXPECT_EQ(ran.end->errors, "err\n");
  EXPECT_EQ(ran.end->code, 7);
  EXPECT_EQ(run("kill -9 $$").end->code, 128 + SIGKILL);
}

TEST(ChildProcess, ProgramThatReadsItsInputFindsTheEndAtOnce) {  // BC-044
  EXPECT_EQ(run("cat; cat <&0; echo done").output, "done\n");
}

TEST(ChildProcess, GivesInputOfAnySizeAndAProgramThatDoesNotWantItDecidesByItsCode) {
  ::signal(SIGPIPE, SIG_IGN);
  for (const char* script : {"wc -c", "exit 3"}) {
    Command command{"/bin/sh", {"-c", script}, {"PATH=/usr/bin:/bin"}, "/"};
    int pieces = 0;
    command.input = [&pieces]() -> base::Result<std::string> {
      return std::string(pieces++ < 30 ? 100'000 : 0, 'x');
    };
    std::string output;
    const auto end = runCommand(command, std::chrono::steady_clock::now() + 60s,
                                [&output](std::string_view bytes) -> base::Status {
                                  output += bytes;
                                  return {};
                                });
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, script[0] == 'w' ? 0 : 3);
    EXPECT_EQ(output, script[0] == 'w' ? "3000000\n" : "");
  }
}

TEST(ChildProcess, TakesOutputOfAnySizeAndKeepsOnlyTheStartOfTheErrors) {
  const Ran ran = run("head -c 3000000 /dev/zero; head -c 300000 /dev/zero >&2");
  EXPECT_EQ(ran.output.size(), 3'000'000u);
  EXPECT_EQ(ran.end->errors.size(), 4096u);
}

TEST(ChildProcess, EndsTheWholeGroupWhenTheTimeIsOver) {
  const Ran ran = run("sleep 1000 & sleep 1000", 300ms);
  ASSERT_FALSE(ran.end);
  EXPECT_EQ(ran.end.error().kind, base::Kind::Timeout);
}

TEST(ChildProcess, OutputThatIsRefusedEndsTheProgram) {
  Command command{"/bin/sh", {"-c", "yes"}, {"PATH=/usr/bin:/bin"}, "/"};
  const auto end = runCommand(command, std::chrono::steady_clock::now() + 60s,
                              [](std::string_view) -> base::Status {
                                return base::Error{base::Kind::Peer, "enough"};
                              });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, base::Kind::Peer);
}

TEST(ChildProcess, ProgramThatIsNotThereIsSaid) {
  Command command{"/nonexistent/git", {}, {}, "/"};
  const auto end = runCommand(command, std::chrono::steady_clock::now() + 60s,
                              [](std::string_view) -> base::Status { return {}; });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, base::Kind::NotFound);
}

}  // namespace
}  // namespace warder::report
