#include "secrets/http/json_tokens.h"

#include <gtest/gtest.h>

#include "secrets/http/json_scan.h"

namespace warder::http {
namespace {

class Record final : public JsonTokens::Sink {
 public:
  void onOpen(bool array) override { log += array ? '[' : '{'; }
  void onClose(bool array) override { log += array ? ']' : '}'; }
  void onKey(std::string_view key, bool whole) override {
    log += std::string(key) + (whole ? ":" : "~:");
  }
  void onText(std::string_view text, bool whole) override {
    log += "'" + std::string(text) + (whole ? "'" : "~'");
    EXPECT_EQ(parts.substr(0, text.size()), text);
    longest = std::max(longest, parts.size());
    parts.clear();
  }
  void onTextPart(std::string_view piece) override { parts += piece; }
  void onNumber(std::string_view digits, bool whole) override {
    log += "#" + std::string(digits) + (whole ? "" : "~");
  }
  void onWord(JsonTokens::Word word) override {
    log += word == JsonTokens::Word::Null ? "n" : word == JsonTokens::Word::True ? "t" : "f";
  }

  std::string log;
  std::string parts;
  std::size_t longest = 0;
};

struct Read {
  std::string log;
  bool good = false;
  std::string fault;
  std::uint64_t offset = 0;
};

Read readIn(std::string_view text, std::size_t piece, JsonTokens::Utf8 utf8) {
  Record record;
  JsonTokens tokens(record, utf8);
  for (std::size_t at = 0; at < text.size(); at += piece) tokens.feed(text.substr(at, piece));
  const bool good = tokens.finish();
  return {record.log, good, std::string(tokens.fault()), tokens.offset()};
}

Read read(std::string_view text, JsonTokens::Utf8 utf8 = JsonTokens::Utf8::Checked) {
  const Read whole = readIn(text, text.size() + 1, utf8);
  for (const std::size_t piece : {1u, 2u, 3u, 7u, 17u}) {
    const Read pieces = readIn(text, piece, utf8);
    EXPECT_EQ(pieces.log, whole.log) << text;
    EXPECT_EQ(pieces.fault, whole.fault) << text;
    EXPECT_EQ(pieces.offset, whole.offset) << text;
  }
  return whole;
}

TEST(JsonTokens, TellsWhatADocumentHolds) {
  const Read got = read(" {\"a\" : [1,-2.5e+3,\"x\",true,false,null,{},[]],\n\"b\":\"\"}\r\n\t ");
  EXPECT_TRUE(got.good) << got.fault;
  EXPECT_EQ(got.log, "{a:[#1#-2.5e+3'x'tfn{}[]]b:''}");
}

TEST(JsonTokens, ReadsLoneValues) {
  for (const char* text : {"0", "-0", "12", "0.5", "1E5", "\"x\"", "true", "null", " false ", "[]"})
    EXPECT_TRUE(read(text).good) << text;
}

TEST(JsonTokens, UndoesEscapesInKeysAndTexts) {
  const Read got = read(R"({"mod\u0065l":"\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83d\ude00"})");
  EXPECT_TRUE(got.good);
  EXPECT_EQ(got.log, "{model:'\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'}");
}

/// JavaScript sends these when it cuts a text amid an emoji.
TEST(JsonTokens, HalfASurrogatePairIsAReplacementCharacter) {
  const std::string half = "\xef\xbf\xbd";
  EXPECT_EQ(read(R"(["\ud83d"])").log, "['" + half + "']");
  EXPECT_EQ(read(R"(["\ude00"])").log, "['" + half + "']");
  EXPECT_EQ(read(R"(["\ud83dx\ud83d\n\ud83d\u0041"])").log,
            "['" + half + "x" + half + "\n" + half + "A']");
  EXPECT_EQ(read(R"(["\ud83d\ud83d\ude00"])").log, "['" + half + "\xf0\x9f\x98\x80']");
  EXPECT_TRUE(read(R"(["\ud83d"])").good);
}

TEST(JsonTokens, RefusesWhatIsNoJson) {
  for (const char* text : {"",          " ",           "{",        "[",        "[1,",
                           "[1,]",      "{,}",         "{\"a\"}",  "{\"a\":}", "{\"a\":1,}",
                           "{a:1}",     "{'a':1}",     "[1 2]",    "]",        "}",
                           "[}",        "{]",          "{} {}",    "{}x",      "[1]]",
                           "01",        "-",           "+1",       ".5",       "1.",
                           "1e",        "1e+",         "0x10",     "NaN",      "[Infinity]",
                           "-Infinity", "nul",         "nulL",     "tru",      "\"",
                           "\"\\x\"",   "\"\\u12g4\"", "\"\\u12",  "// c\n{}", "{}/**/",
                           "[1/**/]",   "\"a\nb\"",    "\"a\tb\"", "[\"a\",]", "\xef\xbb\xbf{}",
                           "[0 1]",     "undefined"}) {
    const Read got = read(text);
    EXPECT_FALSE(got.good) << text;
    EXPECT_FALSE(got.fault.empty()) << text;
  }
  EXPECT_FALSE(read(std::string_view("{\0\"\0", 4)).good);      // UTF-16
  EXPECT_FALSE(read(std::string_view("\xff\xfe{\0", 4)).good);  // and with its mark
  EXPECT_FALSE(read(std::string_view("[\"a\0b\"]", 7)).good);
}

TEST(JsonTokens, SaysWhereTheFaultIs) {
  EXPECT_EQ(read("{\"a\":?}").offset, 5u);
  EXPECT_EQ(read("[01]").offset, 2u);
  EXPECT_EQ(read("{}{").offset, 2u);
  EXPECT_EQ(read("{\"a\":1").fault, "it ends before the document does");
  EXPECT_EQ(read("").fault, "it is empty");
}

TEST(JsonTokens, ChecksUtf8WhenAsked) {
  const auto quoted = [](std::string_view inside) { return "[\"" + std::string(inside) + "\"]"; };
  for (const char* good : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
                           "\xc3\xa9"
                           "abc\xe2\x82\xac"}) {
    const Read got = read(quoted(good));
    EXPECT_TRUE(got.good) << good;
    EXPECT_EQ(got.log, "['" + std::string(good) + "']");
  }
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(read(quoted(bad)).good) << bad;
    EXPECT_TRUE(read(quoted(bad), JsonTokens::Utf8::Any).good) << bad;
  }
}

TEST(JsonTokens, NestsToTheLimitAndNoDeeper) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(read(nested(kMaxJsonDepth)).good);
  const Read deeper = read(nested(kMaxJsonDepth + 1));
  EXPECT_FALSE(deeper.good);
  EXPECT_EQ(deeper.fault, "it is nested too deeply");
}

TEST(JsonTokens, KeepsTheBeginningOfATextAndTellsAllOfIt) {
  for (const std::size_t size : {kMaxJsonText - 1, kMaxJsonText, kMaxJsonText + 1, 300'000ul}) {
    const std::string text(size, 'x');
    Record record;
    JsonTokens tokens(record, JsonTokens::Utf8::Checked);
    tokens.feed("{\"" + text + "\":\"" + text + "\"}");
    EXPECT_TRUE(tokens.finish());
    const bool cut = size > kMaxJsonText;
    const std::string kept = text.substr(0, kMaxJsonText);
    EXPECT_TRUE(record.log == "{" + kept + (cut ? "~:" : ":") + "'" + kept + (cut ? "~'}" : "'}"));
    EXPECT_EQ(record.longest, size);
  }
}

TEST(JsonTokens, BeginsAnewAfterAnything) {
  Record record;
  JsonTokens tokens(record, JsonTokens::Utf8::Checked);
  for (const char* before :
       {"{\"a\":[", "\"\\ud83d", "\"\xe2\x82", "\"\xe0", "-", "nu", "?", "{}"}) {
    tokens.feed(before);
    tokens.restart();
    record.log.clear();
    record.parts.clear();
    tokens.feed("[\"\xe2\x82\xac\"]");
    EXPECT_TRUE(tokens.finish()) << before;
    EXPECT_EQ(record.log, "['\xe2\x82\xac']");
    tokens.restart();
  }
}

std::string scanned(std::string_view text) {
  std::string told;
  JsonScan scan([&](std::string_view path, const JsonValue& value) {
    told += std::string(path) + "=" +
            (value.number ? std::to_string(*value.number) : std::string(value.text)) + ";";
  });
  for (const char c : text) scan.feed({&c, 1});
  return told;
}

TEST(JsonScan, NamesValuesByTheirPath) {
  EXPECT_EQ(scanned(R"({"a":1,"b":{"c":"x","d":[2,{"e":3},[4]]},"f":5})"),
            "a=1;b.c=x;b.d[]=2;b.d[].e=3;b.d[][]=4;f=5;");
  EXPECT_EQ(scanned(R"([{"a":1},{"a":2}])"), "[].a=1;[].a=2;");
  EXPECT_EQ(scanned(R"({"a":-1,"b":1.5,"c":1e3,"d":null,"e":true,"f":18446744073709551616,"g":0})"),
            "g=0;");
}

TEST(JsonScan, DoesNotTellWhatCouldBeTakenForAnotherPath) {
  EXPECT_EQ(scanned(R"({"usage.output":1,"a[]":2,"b":{"c.d":{"e":3},"f":4},"g":5})"), "b.f=4;g=5;");
  const std::string fits(128, 'k');
  EXPECT_EQ(scanned("{\"" + fits + "\":1,\"" + fits + "k\":2}"), fits + "=1;");
}

TEST(JsonScan, WhatFollowsADocumentDoesNotUnmakeIt) {
  for (const std::string_view text : {"{\"a\":[1]}", "[{}]", "\"x\"", "null", "1 "})
    for (const std::string_view after : {"", "\n", "x", "{\"a\":2}"}) {
      JsonScan pieces([](std::string_view, const JsonValue&) {});
      pieces.feed(text);
      pieces.feed(after);
      JsonScan whole([](std::string_view, const JsonValue&) {});
      whole.feed(std::string(text) + std::string(after));
      EXPECT_TRUE(whole.done() && !whole.failed()) << text << after;
      EXPECT_TRUE(pieces.done() && !pieces.failed()) << text << after;
    }
  JsonScan open([](std::string_view, const JsonValue&) {});
  open.feed("{\"a\":[1]");
  EXPECT_FALSE(open.done() || open.failed());
  open.feed("?");
  EXPECT_TRUE(open.failed());
  open.restart();
  EXPECT_FALSE(open.done() || open.failed());
}

TEST(JsonScan, TellsFiveLevelsAndNoMore) {
  EXPECT_EQ(scanned(R"({"a":{"b":{"c":{"d":{"e":1,"f":{"g":2},"h":3}}}},"i":4})"),
            "a.b.c.d.e=1;a.b.c.d.h=3;i=4;");
  EXPECT_EQ(scanned(R"([[[[[1,[2],3]]]]])"), "[][][][][]=1;[][][][][]=3;");
}

}  // namespace
}  // namespace warder::http
