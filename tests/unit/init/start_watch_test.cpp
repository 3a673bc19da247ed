// BC-043: when an agent's silence after its start is a stall.
#include "supervisor/init/start_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace warder::init {
namespace {

using std::chrono::milliseconds;

const StallClock::Time kBegin{};

TEST(StallClock, TellsOnceWhenNothingHappenedForItsPatienceOnBothSides) {
  StallClock clock;
  const AgentSigns signs{10, milliseconds(300), 2};
  EXPECT_FALSE(clock.step(kBegin, signs));
  EXPECT_FALSE(clock.step(kBegin + kStartStall - milliseconds(1), signs));
  EXPECT_TRUE(clock.step(kBegin + kStartStall, signs));
  EXPECT_FALSE(clock.step(kBegin + kStartStall * 2, signs));
}

TEST(StallClock, EverySignOfLifeBeginsTheWaitAnew) {
  const AgentSigns before{10, milliseconds(300), 2};
  for (const AgentSigns& sign :
       {AgentSigns{11, milliseconds(300), 2},
        AgentSigns{10, milliseconds(300) + kIdleCpu + milliseconds(1), 2},
        AgentSigns{10, milliseconds(300), 3}, AgentSigns{10, milliseconds(300), 1}}) {
    StallClock clock;
    clock.step(kBegin, before);
    EXPECT_FALSE(clock.step(kBegin + kStartStall - milliseconds(1), sign));
    EXPECT_FALSE(clock.step(kBegin + kStartStall * 2 - milliseconds(2), sign));
    EXPECT_TRUE(clock.step(kBegin + kStartStall * 2 - milliseconds(1), sign));
  }
}

TEST(StallClock, TheIdleTicksOfARuntimeAreNoSign) {
  StallClock clock;
  AgentSigns signs{10, milliseconds(300), 2};
  clock.step(kBegin, signs);
  signs.cpu += kIdleCpu;
  EXPECT_TRUE(clock.step(kBegin + kStartStall, signs));
}

TEST(StallClock, AProcessThatEndsAndTakesItsCpuAlongIsASign) {
  StallClock clock;
  clock.step(kBegin, {10, milliseconds(5000), 2});
  EXPECT_FALSE(clock.step(kBegin + kStartStall, {10, milliseconds(100), 2}));
}

}  // namespace
}  // namespace warder::init
