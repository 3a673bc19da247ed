#include "supervisor/init/disk_watch.h"

#include <gtest/gtest.h>

namespace warder::init {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

DiskSample bytes(std::uint64_t all, std::uint64_t free) {
  return {all, free, 0, 0};
}

// BC-046: a small /tmp that fills.
TEST(DiskState, IsFullBelowOnePercentAndSaysSoOnce) {
  DiskState state;
  EXPECT_FALSE(state.step(bytes(100 * kMiB, kMiB)));
  EXPECT_TRUE(state.step(bytes(100 * kMiB, kMiB - 1)));
  EXPECT_FALSE(state.step(bytes(100 * kMiB, 0)));
}

TEST(DiskState, IsSaidAgainOnlyAfterItRecovered) {
  DiskState state;
  EXPECT_TRUE(state.step(bytes(100 * kMiB, 0)));
  EXPECT_FALSE(state.step(bytes(100 * kMiB, 5 * kMiB - 1)));
  EXPECT_FALSE(state.step(bytes(100 * kMiB, 0)));
  EXPECT_FALSE(state.step(bytes(100 * kMiB, 5 * kMiB)));
  EXPECT_TRUE(state.step(bytes(100 * kMiB, 0)));
}

TEST(DiskState, LeavesALargeDiskWithRoomForWork) {
  DiskState state;
  EXPECT_FALSE(state.step(bytes(10'000 * kMiB, 16 * kMiB)));
  EXPECT_TRUE(state.step(bytes(10'000 * kMiB, 16 * kMiB - 1)));
}

TEST(DiskState, IsFullWithoutInodesToo) {
  DiskState state;
  EXPECT_FALSE(state.step({100 * kMiB, 100 * kMiB, 1000, 10}));
  EXPECT_TRUE(state.step({100 * kMiB, 100 * kMiB, 1000, 9}));
  EXPECT_FALSE(state.step({100 * kMiB, 100 * kMiB, 1000, 9}));
}

}  // namespace
}  // namespace warder::init
