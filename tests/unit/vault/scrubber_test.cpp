#include "secrets/vault/scrubber.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <deque>
#include <vector>

namespace warder::vault {
namespace {

constexpr std::string_view kSecret = "sk-ant-api03-REALREALREAL";
constexpr std::string_view kPlaceholder = "sk-ant-api03-placeholder-that-is-longer";
// All of it in base64, each character as \uXXXX, less one byte.
constexpr std::size_t kWindow = kSecret.size() * 8 / 6 * 6 - 1;
const std::string kReplaced(kPlaceholder.substr(0, kSecret.size()));

/// For as long as the tests run; views of the secret, which must live as long.
const HiddenForms& formsOf(std::string_view secret, std::string_view placeholder) {
  static std::deque<HiddenForms> all;
  return all.emplace_back(std::move(*HiddenForms::make({&secret, 1}, placeholder)));
}

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
      Scrubber scrubber(formsOf(kSecret, kPlaceholder), mode);
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
      Scrubber scrubber(formsOf(kSecret, kPlaceholder), mode);
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
    Scrubber scrubber(formsOf(kOdd, std::string(40, 'P')), Scrubber::Mode::Window);
    std::string out = passed(scrubber, one.text);
    EXPECT_EQ(out + rest(scrubber), one.wanted);
  }
}

TEST(Scrubber, KeepsLengthsTrueForShortPlaceholdersToo) {
  Scrubber scrubber(formsOf(kSecret, "short"), Scrubber::Mode::Window);
  std::string out = passed(scrubber, std::string(kSecret));
  out += rest(scrubber);
  EXPECT_EQ(out.size(), kSecret.size());
  EXPECT_EQ(out, "short" + std::string(kSecret.size() - 5, '*'));
}

TEST(Scrubber, HoldsBackAFixedWindowWhateverTheBytesAre) {
  const std::string prefix(kSecret.substr(0, 20));
  const std::string other(20, 'x');
  for (const std::string& tail : {prefix, other}) {
    Scrubber scrubber(formsOf(kSecret, kPlaceholder), Scrubber::Mode::Window);
    EXPECT_EQ(passed(scrubber, std::string(1000, '.') + tail).size(), 1020 - kWindow);
  }
}

TEST(Scrubber, PassesWholeEventsAtOnceAndHoldsUnfinishedOnesWhateverTheyHold) {
  Scrubber scrubber(formsOf(kSecret, kPlaceholder), Scrubber::Mode::Events);
  EXPECT_EQ(passed(scrubber, "event: ping\ndata: {}\n\n"), "event: ping\ndata: {}\n\n");
  EXPECT_EQ(passed(scrubber, "data: a\n\ndata: sk-ant"), "data: a\n\n");
  EXPECT_EQ(passed(scrubber, "-b\n"), "");
  EXPECT_EQ(passed(scrubber, "\n"), "data: sk-ant-b\n\n");
  EXPECT_EQ(passed(scrubber, "data: c\r\n\r"), "");
  EXPECT_EQ(passed(scrubber, "\n:"), "data: c\r\n\r\n");
  EXPECT_EQ(rest(scrubber), ":");
}

TEST(Scrubber, BoundsWhatItHoldsOfOneEvent) {
  Scrubber at_most(formsOf(kSecret, kPlaceholder), Scrubber::Mode::Events);
  EXPECT_EQ(passed(at_most, std::string(kMaxHeldEvent, 'x')), "");
  Scrubber over(formsOf(kSecret, kPlaceholder), Scrubber::Mode::Events);
  EXPECT_EQ(passed(over, std::string(kMaxHeldEvent + 1, 'x')).size(), kMaxHeldEvent + 1 - kWindow);
  EXPECT_EQ(passed(over, std::string(kSecret) + "\n\n"),
            std::string(kWindow, 'x') + kReplaced + "\n\n");
}

/// As base64 stands in answers: `before` before it, `after` behind it, in one of the alphabets.
std::string base64(const std::string& text, bool url) {
  std::string out(text.size() / 3 * 4 + 5, '\0');
  const int length = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(length));
  for (char& c : out) c = !url ? c : c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

std::string decoded(std::string text) {
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  std::string out(text.size(), '\0');
  const int length = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

TEST(Scrubber, ReplacesTheSecretInBase64WhereverItBegins) {
  const std::string secret = "k?>~/+\xff\xfe-sk>?>?>secret";  // gives + and / in base64
  for (const bool url : {false, true}) {
    for (std::size_t before = 0; before < 7; ++before) {
      for (std::size_t after = 0; after < 4; ++after) {
        const std::string text =
            base64(std::string(before, 'u') + secret + std::string(after, 'v'), url);
        for (std::size_t size = 1; size <= text.size(); ++size) {
          Scrubber scrubber(formsOf(secret, kPlaceholder), Scrubber::Mode::Window);
          std::string out;
          for (std::size_t at = 0; at < text.size(); at += size)
            out += passed(scrubber, std::string_view(text).substr(at, size));
          out += rest(scrubber);
          ASSERT_EQ(scrubber.hits(), 1u) << before << " " << after;
          ASSERT_EQ(out.size(), text.size());
          // Of the secret no more than its first and its last byte is left.
          ASSERT_EQ(decoded(out).find(secret.substr(1, 4)), std::string::npos);
          ASSERT_EQ(decoded(out).find(secret.substr(secret.size() - 5, 4)), std::string::npos);
        }
      }
    }
  }
}

TEST(Scrubber, ReplacesBase64WithEscapesToo) {
  const std::string secret = "k?>~/+?>-sk>?>?>secret";
  std::string text = base64(secret, false), json, url;
  for (const char c : text) {
    json += c == '/' ? "\\/" : c == '+' ? "\\u002B" : std::string(1, c);
    url += c == '/' ? "%2F" : c == '+' ? "%2b" : std::string(1, c);
  }
  ASSERT_NE(json, text);
  for (const std::string& one : {json, url}) {
    Scrubber scrubber(formsOf(secret, kPlaceholder), Scrubber::Mode::Window);
    std::string out = passed(scrubber, "\"" + one + "\"");
    out += rest(scrubber);
    EXPECT_EQ(scrubber.hits(), 1u) << one;
    EXPECT_EQ(out.size(), one.size() + 2);
  }
}

TEST(Scrubber, TakesTheLongestOfSeveralSecretsHoweverTheStreamIsCut) {
  const std::string_view short_one = "sk-ant-api03-abc";
  const std::string_view long_one = "sk-ant-api03-abcdefghij-longer";
  const std::string_view other = "a-session-token";
  const std::vector<std::string_view> hidden{short_one, other, long_one};
  const auto forms = HiddenForms::make(hidden, std::string(40, 'P'));
  ASSERT_TRUE(forms);
  const std::string text = "1 " + std::string(long_one) + " 2 " + std::string(short_one) + " 3 " +
                           std::string(other) + " 4 " + std::string(short_one) + "def 5\n\n";
  const auto covered = [](std::string_view what) { return std::string(what.size(), 'P'); };
  const std::string wanted = "1 " + covered(long_one) + " 2 " + covered(short_one) + " 3 " +
                             covered(other) + " 4 " + covered(short_one) + "def 5\n\n";
  for (const auto mode : {Scrubber::Mode::Window, Scrubber::Mode::Events}) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      Scrubber scrubber(*forms, mode);
      std::string out;
      for (std::size_t at = 0; at < text.size(); at += size)
        out += passed(scrubber, std::string_view(text).substr(at, size));
      out += rest(scrubber);
      ASSERT_EQ(out, wanted) << size;
      ASSERT_EQ(scrubber.hits(), 4u);
    }
  }
}

TEST(HiddenForms, TakeSecretsOfEightBytesAndNoShorterOnes) {
  const std::string_view fine = "12345678", shorter = "1234567";
  EXPECT_TRUE(HiddenForms::make({&fine, 1}, "P"));
  EXPECT_FALSE(HiddenForms::make({&shorter, 1}, "P"));
  const auto none = HiddenForms::make({}, "P");
  ASSERT_TRUE(none);
  std::string text = "nothing \\u0020 %20";
  EXPECT_EQ(none->replaceAll(text), 0u);
  EXPECT_EQ(none->window(), 0u);
}

TEST(HiddenForms, FindOneAtEveryPlaceOfAText) {
  const auto forms = HiddenForms::make({&kSecret, 1}, kPlaceholder);
  for (std::size_t before = 0; before < 20; ++before) {
    for (std::size_t after = 0; after < 6; ++after) {
      std::string text = std::string(before, 's') + std::string(kSecret) + std::string(after, '\\');
      EXPECT_EQ(forms->replaceAll(text), 1u);
      EXPECT_EQ(text, std::string(before, 's') + kReplaced + std::string(after, '\\'));
    }
  }
  std::string cut = std::string(kSecret.substr(0, kSecret.size() - 1));
  EXPECT_EQ(forms->replaceAll(cut), 0u);
  std::string nothing;
  EXPECT_EQ(forms->replaceAll(nothing), 0u);
}

TEST(ScrubWhole, ReplacesInPlace) {
  const std::string text = "X-Echo: " + std::string(kSecret) + "\r\n";
  WipedBytes bytes(text.begin(), text.end());
  EXPECT_FALSE(scrubWhole(formsOf(kSecret, kPlaceholder), bytes, text.size() - 3));
  EXPECT_TRUE(scrubWhole(formsOf(kSecret, kPlaceholder), bytes, text.size()));
  EXPECT_EQ(viewOf(bytes), "X-Echo: " + kReplaced + "\r\n");
  EXPECT_FALSE(scrubWhole(formsOf(kSecret, kPlaceholder), bytes, text.size()));
}

}  // namespace
}  // namespace warder::vault
