// Limits and refusals of the strict YAML layer. BC-125 duplicate keys, BC-127 anchor bombs.
#include "supervisor/base/yaml_document.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

namespace warder::base {
namespace {

using ::testing::HasSubstr;

std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string faultsOf(std::string_view text) {
  YamlFaults faults("f.yaml");
  parseYaml(text, faults);
  std::string all;
  for (const Fault& fault : faults.list()) all += render(fault) + "\n";
  return all;
}

long peakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(YamlDocument, KnowsThePlaceOfEveryNode) {
  YamlFaults faults("f.yaml");
  const YamlPointer root = parseYaml("a: b\nlist:\n  - x\n  - {k: 'v'}\n", faults);
  ASSERT_TRUE(root);
  EXPECT_TRUE(faults.empty());
  ASSERT_EQ(root->entries.size(), 2U);
  EXPECT_EQ(root->entries[1].mark.line, 2);
  const YamlNode& map = *root->entries[1].value->items[1];
  EXPECT_EQ(map.mark.line, 4);
  EXPECT_EQ(map.mark.column, 5);
  EXPECT_TRUE(map.entries[0].value->quoted);
  EXPECT_FALSE(root->entries[0].value->quoted);
}

TEST(YamlDocument, Bc125DuplicateKeyNamesBothLines) {
  EXPECT_EQ(faultsOf("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3:1: key \"a\" stands twice, first in line 1; keep one\n");
  EXPECT_THAT(faultsOf("x: {a: 1, a: 2}"), HasSubstr("stands twice, first in line 1"));
}

TEST(YamlDocument, Bc125AllDuplicatesAreToldAtOnce) {
  const std::string all = faultsOf("a: 1\na: 2\na: 3\nb: {c: 1, c: 2}\n");
  EXPECT_THAT(all, HasSubstr("f.yaml:2:1"));
  EXPECT_THAT(all, HasSubstr("f.yaml:3:1"));
  EXPECT_THAT(all, HasSubstr("f.yaml:4:11"));
}

TEST(YamlDocument, Bc125MergeKeysAreRefusedWithASentence) {
  EXPECT_THAT(faultsOf("a: &x {k: 1}\nb:\n  <<: *x\n  k: 2\n"),
              HasSubstr("f.yaml:3:3: merge keys"));
}

TEST(YamlDocument, Bc127OneAnchorWithFiveUsesIsAccepted) {
  YamlFaults faults("f.yaml");
  const YamlPointer root = parseYaml("a: &x [1, 2]\nb: [*x, *x, *x, *x, *x]\n", faults);
  ASSERT_TRUE(root);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(root->entries[1].value->items[4]->items[1]->text, "2");
}

TEST(YamlDocument, Bc127NineLevelAliasBombIsRefused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int level = 1; level < 9; ++level) {
    const std::string previous = "*a" + std::to_string(level - 1);
    bomb += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" +
            repeat(previous + ",", 8) + previous + "]\n";
  }
  ASSERT_LT(bomb.size(), 600U);
  EXPECT_THAT(faultsOf(bomb), HasSubstr("more than 100000 values once aliases are expanded"));
}

TEST(YamlDocument, Bc127RecursiveAliasIsRefused) {
  EXPECT_THAT(faultsOf("a: &x [1, *x]\n"), HasSubstr("inside its own anchor"));
  EXPECT_THAT(faultsOf("a: &x {b: {c: *x}}\n"), HasSubstr("inside its own anchor"));
}

TEST(YamlDocument, Bc127TenThousandLevelsAreRefused) {
  // Unclosed brackets look like a key to the scanner, so the sentence differs; the refusal counts.
  for (const char* opener : {"[", "{a: ", "? ", "a: ["}) {
    EXPECT_NE(faultsOf(repeat(opener, 10'000)), "") << opener;
  }
  EXPECT_THAT(faultsOf(repeat("- ", 10'000)), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(faultsOf("a: " + repeat("[", 10'000) + repeat("]", 10'000)),
              HasSubstr("nested deeper than 64 levels"));
}

TEST(YamlDocument, DepthIsTestedOnBothSides) {
  EXPECT_EQ(faultsOf(repeat("[", 64) + repeat("]", 64)), "");
  EXPECT_THAT(faultsOf(repeat("[", 65) + repeat("]", 65)), HasSubstr("64 levels"));
}

TEST(YamlDocument, DepthCountsAliasesWhereTheyAreUsed) {
  const std::string anchored = "a: &x " + repeat("[", 40) + repeat("]", 40) + "\nb: ";
  EXPECT_EQ(faultsOf(anchored + repeat("[", 23) + "*x" + repeat("]", 23)), "");
  EXPECT_THAT(faultsOf(anchored + repeat("[", 24) + "*x" + repeat("]", 24)),
              HasSubstr("64 levels"));
}

TEST(YamlDocument, NodesAreTestedOnBothSides) {
  EXPECT_EQ(faultsOf("[" + repeat("a,", 99'998) + "a]"), "");
  EXPECT_THAT(faultsOf("[" + repeat("a,", 99'999) + "a]"), HasSubstr("more than 100000"));
}

TEST(YamlDocument, Bc127SizeIsTestedOnBothSidesAndSixtyFourMegabytesCostNothing) {
  const std::string most = "a: \"" + std::string(kMaxYamlBytes - 6, 'x') + "\"\n";
  ASSERT_EQ(most.size(), kMaxYamlBytes);
  EXPECT_EQ(faultsOf(most), "");
  EXPECT_THAT(faultsOf(most + " "), HasSubstr("larger than 1 MiB"));
  const std::string huge(64 * kMaxYamlBytes, '[');
  const long before = peakKilobytes();
  EXPECT_THAT(faultsOf(huge), HasSubstr("larger than 1 MiB"));
  EXPECT_LT(peakKilobytes() - before, 8 * 1024);
}

TEST(YamlDocument, ControlCharactersAndBadUtf8AreRefusedWithTheirPlace) {
  EXPECT_EQ(faultsOf(std::string("a: b\0c", 6)), "f.yaml:1:5: control characters are not read\n");
  EXPECT_EQ(faultsOf("a: 1\nb: \x1b[2J"), "f.yaml:2:4: control characters are not read\n");
  EXPECT_EQ(faultsOf("a: \xff"), "f.yaml:1:4: this is not UTF-8\n");
  EXPECT_EQ(faultsOf("a: \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "");
}

TEST(YamlDocument, WhatIsNoSingleDocumentIsRefused) {
  EXPECT_THAT(faultsOf(""), HasSubstr("the file is empty"));
  EXPECT_THAT(faultsOf("# only this\n"), HasSubstr("the file is empty"));
  EXPECT_THAT(faultsOf("a: 1\n---\nb: 2\n"), HasSubstr("f.yaml:3:1: a second document"));
  EXPECT_THAT(faultsOf("a: 1\n]\n"), HasSubstr("f.yaml:2:1: this is not YAML"));
  EXPECT_THAT(faultsOf("a: *nowhere\n"), HasSubstr("f.yaml:1:4: this is not YAML"));
}

TEST(YamlDocument, ANulByteIsRefusedInEveryTextHoweverItIsWritten) {
  for (const char* escape : {"\\0", "\\x00", "\\u0000", "\\U00000000"}) {
    const std::string text = std::string("\"/bin/true") + escape + "x\"";
    EXPECT_THAT(faultsOf("a: " + text), HasSubstr("f.yaml:1:4: this text holds a NUL byte"));
    EXPECT_THAT(faultsOf("a: [b, {c: &x " + text + "}]"), HasSubstr("holds a NUL byte")) << escape;
    EXPECT_THAT(faultsOf("{" + text + ": b}"), HasSubstr("f.yaml:1:2: this text holds a NUL"));
  }
  EXPECT_EQ(faultsOf("a: '\\0'\nb: \\0\nc: \"\\\\0 \\x01\"\n"), "");
}

TEST(YamlDocument, AnOpenQuoteIsRefusedAtTheEndOfTheFile) {
  for (const char* text :
       {"a: 'abc", "a: 'abc\n", "a: \"abc", "a: \"abc\n", "a: 'it''", "a: \"b\\\"", "a: \"b\\",
        "a: '", "a: 'b\n\n  c\n", "a: &x 'b", "- 'b", "'b", "a: 'b\n...", "a: 'b\n--- c\n"}) {
    EXPECT_THAT(faultsOf(text), HasSubstr("a quote that was opened further up is not closed"))
        << text;
  }
  EXPECT_EQ(faultsOf("a: 'abc"),
            "f.yaml:1:8: this is not YAML: a quote that was opened further up is not closed\n");
  for (const char* text : {"a: ['b", "a: {b: \"c", "'b: c"}) EXPECT_NE(faultsOf(text), "") << text;
  for (const char* text : {"a: 'abc'", "a: \"abc\"", "a: 'it'''", "a: \"b\\\\\"", "a: ''",
                           "a: it's", "a: 'b\n\n  c'", "a: b # 'c", "a: |\n  'b", "a: 'b'\n...",
                           "a: 'b'\n...\n...\n", "a: 'b'\r\n", "%YAML 1.2\n---\na: b\n..."}) {
    EXPECT_EQ(faultsOf(text), "") << text;
  }
}

TEST(YamlDocument, TheMarkAtTheEndChangesNoText) {
  const auto value = [](std::string_view text) {
    YamlFaults faults("f.yaml");
    const YamlPointer root = parseYaml(text, faults);
    return root && faults.empty() ? root->entries.at(0).value->text : "refused";
  };
  EXPECT_EQ(value("a: b"), "b");
  EXPECT_EQ(value("a: b\n  c"), "b c");
  EXPECT_EQ(value("a: |\n  b\n"), "b\n");
  EXPECT_EQ(value("a: |-\n  b\n"), "b");
  EXPECT_EQ(value("a: |-\n  b"), "b");
  EXPECT_EQ(value("a: |+\n  b\n\n"), "b\n\n");
  EXPECT_EQ(value("a: >\n  b\n  c\n"), "b c\n");
  EXPECT_EQ(value("a: |\n  ...\n"), "...\n");
}

TEST(YamlDocument, ATabThatIndentsIsNamed) {
  for (const char* text :
       {"a:\n\tb: c\n", "a:\n  b: c\n\td: e\n", "a:\n\t- b\n\t- c\n", "a:\n  - b\n \t- c: d\n"}) {
    EXPECT_THAT(faultsOf(text), HasSubstr("begins with a tab, and tabs cannot indent")) << text;
  }
  EXPECT_THAT(faultsOf("a: [\n\n  }\n"), ::testing::Not(HasSubstr("tab")));
  EXPECT_EQ(faultsOf("a:\tb\n"), "");
}

TEST(YamlDocument, FaultsAreBoundedAndInTheFilesOrder) {
  std::string text;
  for (int i = 0; i < 101; ++i) text += "a: 1\n";
  YamlFaults hundred("f");
  parseYaml(text, hundred);
  EXPECT_EQ(hundred.list().size(), 100U);
  YamlFaults more("f");
  parseYaml(text + "a: 1\n", more);
  ASSERT_EQ(more.list().size(), 101U);
  EXPECT_EQ(more.list().back().sentence, "has more faults than the 100 above");
  YamlFaults order("f");
  order.add(YamlMark{2, 1}, "second");
  order.add(YamlMark{1, 9}, "first");
  order.addForFile("the file");
  EXPECT_EQ(order.list()[0].sentence, "the file");
  EXPECT_EQ(order.list()[1].sentence, "first");
}

TEST(YamlDocument, TagsAndOddKeysAreRefused) {
  EXPECT_THAT(faultsOf("a: !!str no\n"), HasSubstr("tags"));
  EXPECT_THAT(faultsOf("? [a]\n: b\n"), HasSubstr("a key must be text"));
  EXPECT_THAT(faultsOf("a: &x k\n*x : b\n"), HasSubstr("not taken by an alias"));
  EXPECT_THAT(faultsOf(": b\n"), HasSubstr("a key is missing"));
}

}  // namespace
}  // namespace warder::base
