#include "supervisor/base/log.h"

#include <gtest/gtest.h>

namespace warder::base {
namespace {

TEST(EscapeForTerminal, LeavesReadableTextAlone) {
  const std::string text = "plain, \ttabbed, größer, 日本語, 🙂";
  EXPECT_EQ(escapeForTerminal(text), text);
}

TEST(EscapeForTerminal, ShowsMarksThatReorderOrBreakALineUnseen) {
  EXPECT_EQ(escapeForTerminal("a\u202eb"), "a\\xe2\\x80\\xaeb");
  EXPECT_EQ(escapeForTerminal("\u2028"), "\\xe2\\x80\\xa8");
  EXPECT_EQ(escapeForTerminal("\u2069"), "\\xe2\\x81\\xa9");
  EXPECT_EQ(escapeForTerminal("\u061c"), "\\xd8\\x9c");
  EXPECT_EQ(escapeForTerminal("\u2027\u202f\u2065\u206a"), "\u2027\u202f\u2065\u206a");
}

TEST(EscapeForTerminal, TakesTheTeethOutOfEscapeSequencesAndForgedLines) {
  EXPECT_EQ(escapeForTerminal("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(escapeForTerminal("one\nwarder[init] info: all is well"),
            "one\\x0awarder[init] info: all is well");
  EXPECT_EQ(escapeForTerminal("\r\b\x7f"), "\\x0d\\x08\\x7f");
  EXPECT_EQ(escapeForTerminal(std::string_view("\0", 1)), "\\x00");
}

TEST(EscapeForTerminal, EscapesC1ControlsButNotTheLettersAfterThem) {
  EXPECT_EQ(escapeForTerminal("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(escapeForTerminal("\xc2\x9f"), "\\xc2\\x9f");
  EXPECT_EQ(escapeForTerminal("\xc2\xa0"), "\xc2\xa0");
}

TEST(EscapeForTerminal, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(escapeForTerminal("\xff"), "\\xff");
  EXPECT_EQ(escapeForTerminal("\xc3"), "\\xc3") << "cut sequence";
  EXPECT_EQ(escapeForTerminal("\xc0\xaf"), "\\xc0\\xaf") << "overlong slash";
  EXPECT_EQ(escapeForTerminal("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong slash";
  EXPECT_EQ(escapeForTerminal("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(escapeForTerminal("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(escapeForTerminal("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf") << "the last code point";
}

}  // namespace
}  // namespace warder::base
