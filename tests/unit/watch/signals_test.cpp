#include "supervisor/watch/signals.h"

#include <gtest/gtest.h>

namespace warder::watch {
namespace {

TEST(SignalName, KnowsStandardAndRealTimeSignals) {
  EXPECT_EQ(signalName(SIGTERM), "SIGTERM");
  EXPECT_EQ(signalName(SIGKILL), "SIGKILL");
  EXPECT_EQ(signalName(34), "SIGRTMIN+0");
  EXPECT_EQ(signalName(64), "SIGRTMIN+30");
}

TEST(SignalName, DoesNotInventNames) {
  for (const int number : {-1, 0, 32, 33, 65, 99})
    EXPECT_EQ(signalName(number), "signal " + std::to_string(number));
}

}  // namespace
}  // namespace warder::watch
