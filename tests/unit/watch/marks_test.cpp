#include "supervisor/watch/marks.h"

#include <gtest/gtest.h>

#include "supervisor/watch/poll_interval.h"

namespace warder::watch {
namespace {

std::vector<int> percents(const std::vector<MarkCrossed>& crossed) {
  std::vector<int> list;
  for (const auto& mark : crossed) list.push_back(mark.percent);
  return list;
}

MemorySample used(std::uint64_t bytes, std::uint64_t limit = 1000) {
  MemorySample sample;
  sample.limit_bytes = limit;
  sample.used_bytes = bytes;
  return sample;
}

using List = std::vector<int>;

TEST(Marks, AreCrossedAtTheMarkAndNotOneByteBelow) {
  MarkTracker marks({70, 80, 90});
  EXPECT_EQ(percents(marks.step(used(699))), List{});
  EXPECT_EQ(percents(marks.step(used(700))), List{70});
  EXPECT_EQ(percents(marks.step(used(799))), List{});
  EXPECT_EQ(percents(marks.step(used(800))), List{80});
}

TEST(Marks, ThatAreJumpedOverAreAllTold) {
  MarkTracker marks({70, 80, 90});
  const auto crossed = marks.step(used(950));
  EXPECT_EQ(percents(crossed), (List{70, 80, 90}));
  EXPECT_EQ(crossed.back().sample.used_bytes, 950u);
}

TEST(Marks, AreToldOnceAndAgainOnlyAfterUseFellFivePointsBelow) {
  MarkTracker marks({80});
  EXPECT_EQ(percents(marks.step(used(800))), List{80});
  EXPECT_EQ(percents(marks.step(used(750))), List{}) << "exactly five points below: not yet armed";
  EXPECT_EQ(percents(marks.step(used(800))), List{});
  EXPECT_EQ(percents(marks.step(used(749))), List{});
  EXPECT_EQ(percents(marks.step(used(800))), List{80});
}

TEST(Marks, DoNotOverflowOnTheLargestNumbers) {
  MarkTracker marks({1, 99});
  const auto huge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(percents(marks.step(used(huge, huge))), (List{1, 99}));
}

TEST(Marks, SayNothingWithoutALimitOrWithoutMarks) {
  MarkTracker marks({70});
  EXPECT_EQ(percents(marks.step(used(10, 0))), List{});
  EXPECT_EQ(percents(MarkTracker({}).step(used(1000))), List{});
}

TEST(PollInterval, IsShortNearTheLimitAndLongFarFromIt) {
  const auto left = [](std::uint64_t bytes) { return pollInterval(used(0, bytes)).count(); };
  EXPECT_EQ(left(0), 10);
  EXPECT_EQ(left(240'000'000), 10);
  EXPECT_EQ(left(264'000'000), 11);
  EXPECT_EQ(left(1'000'000'000), 41);
  EXPECT_EQ(left(11'976'000'000), 499);
  EXPECT_EQ(left(12'000'000'000), 500);
  EXPECT_EQ(left(100'000'000'000), 500);
}

TEST(PollInterval, IsTheShortestOnceUseIsOverTheLimit) {
  EXPECT_EQ(pollInterval(used(2000, 1000)).count(), 10);
}

}  // namespace
}  // namespace warder::watch
