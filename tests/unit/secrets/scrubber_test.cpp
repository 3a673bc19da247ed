#include "secrets/scrubber.h"

#include <gtest/gtest.h>

namespace warder::secrets {
namespace {

constexpr std::string_view kSecret = "sk-ant-api03-REALREALREAL";
constexpr std::string_view kPlaceholder = "sk-ant-api03-placeholder-that-is-longer";
const std::string kReplaced(kPlaceholder.substr(0, kSecret.size()));

std::string passed(Scrubber& scrubber, std::string_view bytes) {
  WipedBytes out;
  scrubber.push(bytes, out);
  return {out.data(), out.size()};
}

std::string rest(Scrubber& scrubber) {
  WipedBytes out;
  scrubber.finish(out);
  return {out.data(), out.size()};
}

TEST(Scrubber, ReplacesTheSecretAtEveryCutOfTheStream) {
  const std::string text = "{\"echo\":\"" + std::string(kSecret) + "\"} and again " +
                           std::string(kSecret) + std::string(kSecret);
  const std::string wanted = "{\"echo\":\"" + kReplaced + "\"} and again " + kReplaced + kReplaced;
  for (const auto mode : {Scrubber::Mode::Window, Scrubber::Mode::Events}) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      Scrubber scrubber(kSecret, kPlaceholder, mode);
      std::string out;
      for (std::size_t at = 0; at < text.size(); at += size)
        out += passed(scrubber, std::string_view(text).substr(at, size));
      out += rest(scrubber);
      ASSERT_EQ(out, wanted) << size;
      EXPECT_EQ(scrubber.hits(), 3u);
    }
  }
}

TEST(Scrubber, KeepsLengthsTrueForShortPlaceholdersToo) {
  Scrubber scrubber(kSecret, "short", Scrubber::Mode::Window);
  std::string out = passed(scrubber, std::string(kSecret));
  out += rest(scrubber);
  EXPECT_EQ(out.size(), kSecret.size());
  EXPECT_EQ(out, "short" + std::string(kSecret.size() - 5, '*'));
}

TEST(Scrubber, HoldsBackAFixedWindowWhateverTheBytesAre) {
  const std::string prefix(kSecret.substr(0, 20));
  const std::string other(20, 'x');
  for (const std::string& tail : {prefix, other}) {
    Scrubber scrubber(kSecret, kPlaceholder, Scrubber::Mode::Window);
    EXPECT_EQ(passed(scrubber, std::string(100, '.') + tail).size(), 120 - (kSecret.size() - 1));
  }
}

TEST(Scrubber, PassesWholeEventsAtOnceAndHoldsUnfinishedOnesWhateverTheyHold) {
  Scrubber scrubber(kSecret, kPlaceholder, Scrubber::Mode::Events);
  EXPECT_EQ(passed(scrubber, "event: ping\ndata: {}\n\n"), "event: ping\ndata: {}\n\n");
  EXPECT_EQ(passed(scrubber, "data: a\n\ndata: sk-ant"), "data: a\n\n");
  EXPECT_EQ(passed(scrubber, "-b\n"), "");
  EXPECT_EQ(passed(scrubber, "\n"), "data: sk-ant-b\n\n");
  EXPECT_EQ(passed(scrubber, "data: c\r\n\r"), "");
  EXPECT_EQ(passed(scrubber, "\n:"), "data: c\r\n\r\n");
  EXPECT_EQ(rest(scrubber), ":");
}

TEST(Scrubber, BoundsWhatItHoldsOfOneEvent) {
  Scrubber at_most(kSecret, kPlaceholder, Scrubber::Mode::Events);
  EXPECT_EQ(passed(at_most, std::string(kMaxHeldEvent, 'x')), "");
  Scrubber over(kSecret, kPlaceholder, Scrubber::Mode::Events);
  EXPECT_EQ(passed(over, std::string(kMaxHeldEvent + 1, 'x')).size(),
            kMaxHeldEvent + 1 - (kSecret.size() - 1));
  EXPECT_EQ(passed(over, std::string(kSecret) + "\n\n"),
            std::string(kSecret.size() - 1, 'x') + kReplaced + "\n\n");
}

TEST(ScrubWhole, ReplacesInPlace) {
  const std::string text = "X-Echo: " + std::string(kSecret) + "\r\n";
  WipedBytes bytes(text.begin(), text.end());
  EXPECT_FALSE(scrubWhole(kSecret, kPlaceholder, bytes, text.size() - 3));
  EXPECT_TRUE(scrubWhole(kSecret, kPlaceholder, bytes, text.size()));
  EXPECT_EQ(viewOf(bytes), "X-Echo: " + kReplaced + "\r\n");
  EXPECT_FALSE(scrubWhole(kSecret, kPlaceholder, bytes, text.size()));
}

}  // namespace
}  // namespace warder::secrets
