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
