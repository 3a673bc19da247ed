// The live view as strings: what it says, how wide it is, and what it does to a terminal.
#include "supervisor/cli/live_view.h"

#include <gmock/gmock.h>

namespace warder::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

LiveState running() {
  LiveState state;
  state.status = init::RunStatus();
  state.status->phase = "running";
  state.status->elapsed_ms = 83'000;
  state.status->agent = {5, "/usr/bin/claude"};
  state.status->memory = {1UL << 30, 4UL << 30, "v2", 70};
  state.status->llm = {12, 1, 12'345, 340, 0.5};
  state.status->denied = 2;
  state.last_line = "working on it";
  return state;
}

TEST(LiveView, SaysWhatThereIsToKnow) {
  const auto lines = liveLines(running(), {120, false});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0],
            "running 1m23s  claude (pid 5)  llm 12 calls, 1 failed, 12.3k in, 340 out, $0.5000  "
            "denied 2");
  EXPECT_EQ(lines[1],
            "memory [#######--------------|--------] 1.0 GiB of 4.0 GiB (25%), warns at 70%");
  EXPECT_EQ(lines[2], "> working on it");
}

TEST(LiveView, BeforeTheFirstStatusThereIsNone) {
  EXPECT_TRUE(liveLines({std::nullopt, "x"}, {80, false}).empty());
  EXPECT_EQ(LiveView().redraw("plain\n", {std::nullopt, "x"}, {80, false}), "plain\n");
}

TEST(LiveView, MemoryWithoutALimitHasNoBar) {
  LiveState state = running();
  state.status->memory = {5UL << 20, 0, "", 0};
  EXPECT_EQ(liveLines(state, {80, false})[1], "memory 5.0 MiB");
  state.status->memory = {};
  EXPECT_EQ(liveLines(state, {80, false})[1], "> working on it");
}

TEST(LiveView, NoLineIsWiderThanTheScreenWhateverItsWidth) {
  LiveState state = running();
  state.last_line = "\xe6\xbc\xa2\xe5\xad\x97 " + std::string(500, 'x');
  for (int columns = kLeastColumns; columns <= 200; ++columns) {
    for (const bool colour : {false, true}) {
      for (const auto& line : liveLines(state, {columns, colour}))
        EXPECT_LT(columnsOf(line), columns) << line;
    }
  }
}

TEST(LiveView, CharactersAreCutWhole) {
  LiveState state = running();
  state.last_line = std::string(16, 'x') + "\xe6\xbc\xa2";
  EXPECT_EQ(liveLines(state, {21, false})[2], "> " + state.last_line);
  EXPECT_EQ(liveLines(state, {20, false})[2], "> " + std::string(16, 'x'));
}

TEST(LiveView, WhatTheAgentWroteCannotSteerTheTerminal) {
  LiveState state = running();
  state.last_line =
      "\x1b[2J\r\x9b"
      "1A\n";
  state.status->agent.program = "/bin/\x1b]0;x\x07";
  for (const auto& line : liveLines(state, {200, false})) {
    for (const char c : {'\x1b', '\r', '\n', '\x07', '\x9b'})
      EXPECT_EQ(line.find(c), std::string::npos) << line;
  }
}

TEST(LiveView, ColoursComeOnlyWhenAskedForAndAreTakenBack) {
  for (const auto& line : liveLines(running(), {120, false}))
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  const auto lines = liveLines(running(), {120, true});
  EXPECT_THAT(lines[0], StartsWith("\x1b[1mrunning\x1b[0m"));
  EXPECT_THAT(lines[1], HasSubstr("\x1b[32m["));
  LiveState full = running();
  full.status->memory = {39UL << 20, 40UL << 20, "", 0};
  EXPECT_THAT(liveLines(full, {120, true})[1], HasSubstr("\x1b[31m["));
}

TEST(LiveView, TheBarMarksTheNextWarning) {
  EXPECT_EQ(memoryBar({0, 100, "", 70}, 12), "[-------|--]");
  EXPECT_EQ(memoryBar({50, 100, "", 70}, 12), "[#####--|--]");
  EXPECT_EQ(memoryBar({100, 100, "", 0}, 12), "[##########]");
  EXPECT_EQ(memoryBar({500, 100, "", 99}, 12), "[#########|]");
  EXPECT_EQ(memoryBar({50, 100, "", 70}, 2), "");
}

TEST(LiveView, IsTakenAwayBeforePlainLinesAndDrawnAgainUnderThem) {
  LiveView view;
  const Screen screen{80, false};
  const std::string first = view.redraw("one\n", running(), screen);
  EXPECT_THAT(first, StartsWith("one\nrunning "));
  EXPECT_THAT(first, EndsWith("> working on it"));
  const std::string second = view.redraw("two\n", running(), screen);
  EXPECT_THAT(second, StartsWith("\r\x1b[A\x1b[A\x1b[Jtwo\nrunning "));
  EXPECT_EQ(view.erase(screen), "\r\x1b[A\x1b[A\x1b[J");
  EXPECT_EQ(view.erase(screen), "");
}

TEST(LiveView, LinesThatANarrowerTerminalWrappedAreTakenAwayWhole) {
  LiveView view;
  view.redraw("", running(), {100, false});
  // 88, 78 and 15 columns take 5, 4 and 1 rows of 20.
  const std::string bytes = view.erase({20, false});
  std::size_t ups = 0;
  for (std::size_t at = bytes.find("\x1b[A"); at != std::string::npos;
       at = bytes.find("\x1b[A", at + 1))
    ++ups;
  EXPECT_EQ(ups, 9U);
}

}  // namespace
}  // namespace warder::cli
