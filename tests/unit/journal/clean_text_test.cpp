#include "supervisor/journal/clean_text.h"

#include <gtest/gtest.h>

namespace warder::journal {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";

TEST(CleanText, ReplacesEachByteThatIsNoUtf8) {
  EXPECT_EQ(validUtf8("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(validUtf8("a\xff\xfe"), std::string("a") + kReplacement + kReplacement);
  EXPECT_EQ(validUtf8("cut \xe2\x82"), std::string("cut ") + kReplacement + kReplacement);
  EXPECT_EQ(validUtf8(""), "");
}

TEST(CleanText, CleansKeysAndValuesAtAnyDepthAndOnlyOnce) {
  json::value value = {{"a\xff", {{"b", json::array{"\xc0", 1, "fine"}}}}};
  makeValidUtf8(value);
  const std::string printed = json::serialize(value);
  EXPECT_EQ(printed, std::string("{\"a") + kReplacement + "\":{\"b\":[\"" + kReplacement +
                         "\",1,\"fine\"]}}");
  makeValidUtf8(value);
  EXPECT_EQ(json::serialize(value), printed);
}

TEST(CleanText, CutsBetweenCharacters) {
  EXPECT_EQ(cutUtf8("abc", 3), "abc");
  EXPECT_EQ(cutUtf8("abc", 2), "ab");
  EXPECT_EQ(cutUtf8("a\xe2\x82\xac", 3), "a");
  EXPECT_EQ(cutUtf8("\xe2\x82\xac", 0), "");
}

TEST(CleanText, LineThatFitsIsKeptAndOneByteMoreIsCut) {
  const std::string fits(98, 'x');  // 100 with its quotes
  EXPECT_EQ(boundedLine(fits, 100).text, fits);
  EXPECT_FALSE(boundedLine(fits, 100).cut);
  const BoundedLine longer = boundedLine(fits + "x", 100);
  EXPECT_TRUE(longer.cut);
  EXPECT_LE(json::serialize(json::string(longer.text)).size(), 100u);
}

TEST(CleanText, LargeObjectKeepsItsShape) {
  json::object line{{"type", "result"}, {"is_error", false}, {"result", std::string(400'000, 'y')}};
  const BoundedLine bounded = boundedLine(json::serialize(line), 64 * 1024);
  EXPECT_TRUE(bounded.cut);
  const auto kept = json::parse(bounded.text).as_object();
  EXPECT_EQ(kept.at("type"), "result");
  EXPECT_EQ(kept.at("is_error"), false);
  EXPECT_EQ(kept.at("result").as_string().size(), 4096u + 3u);
}

TEST(CleanText, ControlBytesThatGrowWhenPrintedStillFit) {
  const BoundedLine bounded = boundedLine(std::string(100'000, '\x01'), 64 * 1024);
  EXPECT_TRUE(bounded.cut);
  EXPECT_LE(json::serialize(json::string(bounded.text)).size(), 64u * 1024u);
  EXPECT_FALSE(bounded.text.empty());
}

}  // namespace
}  // namespace warder::journal
