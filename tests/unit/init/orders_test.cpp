#include "supervisor/init/orders.h"

#include <gtest/gtest.h>

#include "supervisor/init/tokens.h"

namespace warder::init {
namespace {

TEST(RepeatWords, LeavesAnOrdinaryCommandAsItIs) {
  EXPECT_EQ(repeatWords({"a", "b c"}), (base::json::array{"a", "b c"}));
}

TEST(RepeatWords, CutsOneLongWordAndSaysSo) {
  const auto whole = repeatWords({std::string(4096, 'x')});
  EXPECT_EQ(whole.at(0).as_string().size(), 4096U);
  const auto cut = repeatWords({std::string(4097, 'x')});
  EXPECT_EQ(cut.at(0).as_string(), std::string(4096, 'x') + "…");
}

TEST(RepeatWords, CountsWhatIsLeftOut) {
  const std::vector<std::string> most(kMaxRepeatedBytes / 4096, std::string(4096, 'x'));
  EXPECT_EQ(repeatWords(most).size(), most.size());
  auto more = most;
  more.insert(more.end(), {"one", "two"});
  const auto repeated = repeatWords(more);
  EXPECT_EQ(repeated.size(), most.size() + 1);
  EXPECT_EQ(repeated.back().as_string(), "… and 2 more");
}

TEST(MissingWalls, AreNamedWhereOnlyOneIdIsMapped) {
  EXPECT_TRUE(missingWalls(false, 6).empty());
  EXPECT_EQ(missingWalls(true, 6).size(), 3U);
}

TEST(MissingWalls, AreNamedWhereTheKernelCannotScopeSignals) {
  ASSERT_EQ(missingWalls(false, 5).size(), 1U);
  EXPECT_NE(missingWalls(false, 5)[0].find("6.12"), std::string::npos);
}

}  // namespace
}  // namespace warder::init
