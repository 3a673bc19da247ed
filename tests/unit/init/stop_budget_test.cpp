#include "supervisor/init/stop_budget.h"

#include <gtest/gtest.h>

namespace warder::init {
namespace {

using namespace std::chrono_literals;
using Clock = StopBudget::Clock;

const Clock::time_point kAsked = Clock::time_point() + 1h;

TEST(StopBudget, GivesEveryDutyItsWishWhereNobodyKills) {
  const StopBudget none;
  EXPECT_EQ(none.forAgent(5s, kAsked), 5s);
  EXPECT_EQ(none.forHarvest(120s, kAsked), 120s);
  EXPECT_EQ(none.forDelivery(600s, kAsked), 600s);
}

// docker stop: 10 s, whatever the job's grace is.
TEST(StopBudget, LeavesTimeForTheReportWithinDockersTenSeconds) {
  const StopBudget docker(kAsked, 10s);
  const auto agent = docker.forAgent(1h, kAsked);
  const auto leftovers = docker.forLeftovers(1h, kAsked + agent);
  const auto harvest = docker.forHarvest(120s, kAsked + agent + leftovers);
  const auto delivery = docker.forDelivery(600s, kAsked + agent + leftovers + harvest);
  EXPECT_EQ(agent, 4500ms);
  EXPECT_EQ(leftovers, 1500ms);
  EXPECT_EQ(harvest, 1500ms);
  EXPECT_EQ(delivery, 1500ms);
  EXPECT_LT(agent + leftovers + harvest + delivery, 10s);
}

TEST(StopBudget, LeavesAGraceThatFitsAsItIs) {
  const StopBudget kubernetes(kAsked, 30s);
  EXPECT_EQ(kubernetes.forAgent(5s, kAsked), 5s);
  EXPECT_EQ(kubernetes.forLeftovers(5s, kAsked + 5s), 5s);
}

TEST(StopBudget, GivesNothingWhenTheTimeIsOver) {
  const StopBudget docker(kAsked, 10s);
  EXPECT_EQ(docker.forLeftovers(5s, kAsked + 6s), 0ms);
  EXPECT_EQ(docker.forLeftovers(5s, kAsked + 5999ms), 1ms);
  EXPECT_EQ(docker.forDelivery(600s, kAsked + 1h), 0ms);
}

}  // namespace
}  // namespace warder::init
