#include "supervisor/journal/frame.h"

#include <gtest/gtest.h>

namespace warder::journal {
namespace {

std::string frames(std::initializer_list<std::string> payloads) {
  std::string all;
  for (const auto& payload : payloads) all += *encodeFrame(payload);
  return all;
}

TEST(Frame, ChecksumIsCastagnoli) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // RFC 3720's check value
  EXPECT_EQ(crc32c("6789", crc32c("12345")), crc32c("123456789"));
}

TEST(Frame, ReadsBackWhatItWrote) {
  const std::string bytes = frames({"{\"a\":1}", "{}", std::string(70000, 'x')});
  const Scan scan = scanFrames(bytes);
  ASSERT_EQ(scan.frames.size(), 3u);
  EXPECT_EQ(scan.frames[0].payload, "{\"a\":1}");
  EXPECT_EQ(scan.frames[2].payload.size(), 70000u);
  EXPECT_EQ(scan.sound_end, bytes.size());
  EXPECT_EQ(scan.torn, 0u);
  EXPECT_TRUE(scan.damage.empty());
}

TEST(Frame, TakesPayloadOfOneMebibyteAndRefusesOneByteMore) {
  const std::string largest(kMaxPayload, 'x');
  const auto frame = encodeFrame(largest);
  ASSERT_TRUE(frame);
  EXPECT_EQ(scanFrames(*frame).frames.size(), 1u);
  EXPECT_FALSE(encodeFrame(largest + "x"));
  EXPECT_FALSE(encodeFrame(""));
}

TEST(Frame, CutAtAnyByteIsATornTail) {
  const std::string bytes = frames({"first", "second"});
  const std::size_t first = kFrameHeader + 5;
  for (std::size_t cut = first + 1; cut < bytes.size(); ++cut) {
    const Scan scan = scanFrames(std::string_view(bytes).substr(0, cut));
    ASSERT_EQ(scan.frames.size(), 1u) << cut;
    EXPECT_EQ(scan.sound_end, first);
    EXPECT_EQ(scan.torn, cut - first);
    EXPECT_TRUE(scan.damage.empty());
  }
}

TEST(Frame, FlippedByteInTheMiddleIsDamageAndTheNextFrameIsFound) {
  const std::string bytes = frames({"first", "second", "third"});
  const std::size_t first = kFrameHeader + 5, second = kFrameHeader + 6;
  for (std::size_t at = first; at < first + second; ++at) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const Scan scan = scanFrames(bad);
    ASSERT_EQ(scan.frames.size(), 2u) << at;
    EXPECT_EQ(scan.frames[1].payload, "third");
    ASSERT_EQ(scan.damage.size(), 1u);
    EXPECT_EQ(scan.damage[0].offset, first);
    EXPECT_EQ(scan.damage[0].length, second);
    EXPECT_EQ(scan.torn, 0u);
  }
}

TEST(Frame, NothingButRubbishIsATornTail) {
  const Scan scan = scanFrames(std::string(1000, '\xff'));
  EXPECT_TRUE(scan.frames.empty());
  EXPECT_EQ(scan.torn, 1000u);
}

TEST(Frame, StopsBehindTheLimitWithoutCallingTheRestTorn) {
  const std::string bytes = frames({"first", "second"});
  const Scan scan = scanFrames(bytes, 1);
  EXPECT_EQ(scan.frames.size(), 1u);
  EXPECT_EQ(scan.torn, 0u);
}

}  // namespace
}  // namespace warder::journal
