// The probe against the kernel of this machine, whatever it offers.
#include "supervisor/watch/memory_probe.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace warder::watch {
namespace {

constexpr std::size_t kSize = 512 << 20;

/// Does the probe see a block that comes to life? Others use the same machine, so one look may be
/// blurred.
bool seesGrowth(MemoryProbe& probe) {
  const auto before = probe.sample();
  if (!before) return false;
  std::vector<char> block(kSize);
  std::memset(block.data(), 1, block.size());
  const auto after = probe.sample();
  return after && after->used_bytes > before->used_bytes + kSize / 2 &&
         after->peak_bytes >= after->used_bytes;
}

TEST(MemoryProbe, SeesMemoryThatThisProcessTakes) {
  auto probe = MemoryProbe::open();
  ASSERT_TRUE(probe) << probe.error().sentence();
  const auto sample = probe->sample();
  ASSERT_TRUE(sample) << sample.error().sentence();
  EXPECT_GT(sample->limit_bytes, sample->used_bytes);
  bool seen = false;
  for (int attempt = 0; attempt < 20 && !seen; ++attempt) seen = seesGrowth(*probe);
  EXPECT_TRUE(seen);
}

TEST(MemoryProbe, CountsKillsWithoutAnError) {
  auto probe = MemoryProbe::open();
  ASSERT_TRUE(probe);
  EXPECT_TRUE(probe->oomKills());
}

}  // namespace
}  // namespace warder::watch
