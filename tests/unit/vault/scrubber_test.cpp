#include "secrets/vault/scrubber.h"

#include <gtest/gtest.h>

namespace warder::vault {
namespace {

constexpr std::string_view kSecret = "sk-ant-api03-REALREALREAL";
constexpr std::string_view kPlaceholder = "sk-ant-api03-placeholder-that-is-longer";
constexpr std::size_t kWindow = kSecret.size() * 6 - 1;  // all of it as \uXXXX, less one byte
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

/// `every`: 1 for each character, 2 for every second.
std::string escaped(std::string_view text, const char* form, std::size_t every = 1) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char spelled[8];
    std::snprintf(spelled, sizeof spelled, form, static_cast<unsigned>(text[i]));
    out += i % every == 0 ? std::string(spelled) : std::string(1, text[i]);
  }
  return out;
}

TEST(Scrubber, ReplacesTheSecretInEverySpellingAtEveryCutOfTheStream) {
  std::string text, wanted;
  const std::string_view with = kReplaced;
  for (const char* form : {"\\u%04x", "\\u%04X", "%%%02x", "%%%02X"}) {
    for (const std::size_t every : {1U, 2U, 3U}) {
      text += "{\"a\":\"" + escaped(kSecret, form, every) + "\"}";
      wanted += "{\"a\":\"" + escaped(with, form[0] == '%' ? "%%%02x" : "\\u%04x", every) + "\"}";
    }
  }
  for (const auto mode : {Scrubber::Mode::Window, Scrubber::Mode::Events}) {
    for (std::size_t size = 1; size <= 400; ++size) {
      Scrubber scrubber(kSecret, kPlaceholder, mode);
      std::string out;
      for (std::size_t at = 0; at < text.size(); at += size)
        out += passed(scrubber, std::string_view(text).substr(at, size));
      out += rest(scrubber);
      ASSERT_EQ(scrubber.hits(), 12u) << size;
      ASSERT_EQ(out, wanted) << size;
    }
  }
}

TEST(Scrubber, ReplacesASecretWithSlashesQuotesAndBackslashesAndKeepsTheirEscapes) {
  constexpr std::string_view kOdd = "ab/cd\"ef\\gh";
  const struct {
    std::string text, wanted;
  } cases[] = {
      {"x" + std::string(kOdd) + "y", "xPPPPPPPPPPPy"},
      {R"("ab\/cd\"ef\\gh")", R"("PP\/PP\"PP\\PP")"},
      {R"("ab\u002fcd\"ef\\gh")", R"("PP\u0050PP\"PP\\PP")"},
      {R"("ab\ncd")", R"("ab\ncd")"},
      {R"(ab\u012fcd\"ef\\gh)", R"(ab\u012fcd\"ef\\gh)"},  // another character
  };
  for (const auto& one : cases) {
    Scrubber scrubber(kOdd, std::string(40, 'P'), Scrubber::Mode::Window);
    std::string out = passed(scrubber, one.text);
    EXPECT_EQ(out + rest(scrubber), one.wanted);
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
    EXPECT_EQ(passed(scrubber, std::string(1000, '.') + tail).size(), 1020 - kWindow);
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
  EXPECT_EQ(passed(over, std::string(kMaxHeldEvent + 1, 'x')).size(), kMaxHeldEvent + 1 - kWindow);
  EXPECT_EQ(passed(over, std::string(kSecret) + "\n\n"),
            std::string(kWindow, 'x') + kReplaced + "\n\n");
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
}  // namespace warder::vault
