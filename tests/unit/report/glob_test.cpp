#include "supervisor/report/glob.h"

#include <gtest/gtest.h>

namespace warder::report {
namespace {

struct Row {
  const char* pattern;
  const char* path;
  bool matches;
};

class GlobTable : public ::testing::TestWithParam<Row> {};

TEST_P(GlobTable, MeansWhatItSays) {
  EXPECT_EQ(Glob(GetParam().pattern).matches(GetParam().path), GetParam().matches)
      << GetParam().pattern << " on " << GetParam().path;
}

INSTANTIATE_TEST_SUITE_P(
    All, GlobTable,
    ::testing::Values(
        Row{"report.pdf", "report.pdf", true}, Row{"report.pdf", "a/report.pdf", false},
        Row{"report.pdf", "report.pdf.bak", false}, Row{"*.txt", "a.txt", true},
        Row{"*.txt", "a/b.txt", false}, Row{"**/*.txt", "a.txt", true},
        Row{"**/*.txt", "a/b/c.txt", true}, Row{"out/**", "out/a", true},
        Row{"out/**", "out/a/b", true}, Row{"out/**", "outer/a", false},
        Row{"out/**/x", "out/x", true}, Row{"out/**/x", "out/a/b/x", true},
        Row{"out/**/x", "out/a/b/y", false}, Row{"a?c", "abc", true}, Row{"a?c", "a/c", false},
        Row{"[ab].x", "b.x", true}, Row{"[ab].x", "c.x", false}, Row{"out", "out/deep/file", true},
        Row{"out", "out", true}, Row{"*", ".hidden", true}, Row{"./a", "a", true},
        Row{"a//b", "a/b", true}, Row{"", "a", false}, Row{"**", "a/b", true},
        Row{"**/**/a", "a", true}, Row{"a\\b", "a\\b", true}, Row{"\xff*", "\xff\xfe", true}));

TEST(Glob, WalkMayLeaveOutFoldersThatNothingIsMeantIn) {
  const Glob glob("out/*/x");
  const auto out = glob.step(glob.start(), "out");
  EXPECT_TRUE(glob.mayGoOn(out));
  EXPECT_FALSE(glob.accepts(out));
  EXPECT_FALSE(glob.mayGoOn(glob.step(glob.start(), "src")));
  EXPECT_FALSE(glob.mayGoOn(glob.step(glob.step(out, "a"), "y")));
}

}  // namespace
}  // namespace warder::report
