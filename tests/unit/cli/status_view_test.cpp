// A run's status in words.
#include "supervisor/cli/status_view.h"

#include <gmock/gmock.h>

#include <limits>

namespace warder::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusView, NumbersAreShortOnBothSidesOfEachUnit) {
  EXPECT_EQ(shortSize(1023), "1023 bytes");
  EXPECT_EQ(shortSize(1024), "1.0 KiB");
  EXPECT_EQ(shortSize(1023UL * 1024), "1023.0 KiB");
  EXPECT_EQ(shortSize(1024UL * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(shortSize(1610612736), "1.5 GiB");
  EXPECT_EQ(shortSize(~0ULL), "16777216.0 TiB");
  EXPECT_EQ(shortCount(999), "999");
  EXPECT_EQ(shortCount(1000), "1.0k");
  EXPECT_EQ(shortCount(999'949), "999.9k");
  EXPECT_EQ(shortCount(999'950), "1.0M");
  EXPECT_EQ(shortTime(4260), "4.2s");
  EXPECT_EQ(shortTime(59'999), "59.9s");
  EXPECT_EQ(shortTime(60'000), "1m00s");
  EXPECT_EQ(shortTime(3'599'999), "59m59s");
  EXPECT_EQ(shortTime(3'600'000), "1h00m");
  EXPECT_EQ(money(0.12345), "$0.1235");
}

TEST(StatusView, ACostThatCannotBeIsShortToo) {
  EXPECT_EQ(money(999'999'999), "$999999999.0000");
  EXPECT_EQ(money(1e9), "$1e+09");
  EXPECT_EQ(money(1e308), "$1e+308");
  EXPECT_EQ(money(-1e308), "$-1e+308");
  EXPECT_EQ(money(std::numeric_limits<double>::infinity()), "$inf");
  EXPECT_EQ(money(std::numeric_limits<double>::quiet_NaN()), "$nan");
}

TEST(StatusView, PercentNeedsALimit) {
  EXPECT_EQ(percentOf({50, 0, "", 0}), 0);
  EXPECT_EQ(percentOf({50, 200, "", 0}), 25);
  EXPECT_EQ(percentOf({~0ULL, ~0ULL, "", 0}), 100);
}

TEST(StatusView, TellsHowARunStands) {
  init::RunStatus status;
  status.run_id = "r-1";
  status.phase = "running";
  status.elapsed_ms = 83'000;
  status.agent = {5, "/usr/bin/claude"};
  status.memory = {1UL << 30, 4UL << 30, "v2", 70};
  status.llm = {12, 1, 1000, 200, 0.5};
  const std::string text = statusText(status);
  EXPECT_THAT(text, HasSubstr("run       r-1\nphase     running, for 1m23s\n"));
  EXPECT_THAT(text, HasSubstr("agent     /usr/bin/claude (pid 5)\n"));
  EXPECT_THAT(text, HasSubstr("memory    1.0 GiB of 4.0 GiB (25%), warns at 70%\n"));
  EXPECT_THAT(text, HasSubstr("llm       12 calls, 1 failed, 1000 tokens in, 200 out, $0.5000\n"));
  EXPECT_THAT(text, Not(HasSubstr("outcome")));
  status.outcome = {"agent", "agent_error", "it failed"};
  status.agent.pid = -1;
  EXPECT_THAT(statusText(status), HasSubstr("outcome   agent (agent_error): it failed\n"));
  EXPECT_THAT(statusText(status), HasSubstr("claude (ended)"));
}

TEST(StatusView, NothingInItSteersATerminal) {
  init::RunStatus status;
  status.run_id = "\x1b[2J";
  status.agent = {5, "a\nb"};
  status.outcome = {"ok", "completed", "\x9b"};
  const std::string text = statusText(status);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x9b'), std::string::npos);
  EXPECT_EQ(text.find("\nb"), std::string::npos);
}

}  // namespace
}  // namespace warder::cli
