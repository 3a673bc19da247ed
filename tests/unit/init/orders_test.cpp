#include "supervisor/init/orders.h"

#include <gtest/gtest.h>

#include "supervisor/init/tokens.h"

namespace warder::init {
namespace {

Place place(bool one_id, int landlock_abi) {
  Place place;
  place.one_id = one_id;
  place.landlock_abi = landlock_abi;
  return place;
}

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
  EXPECT_TRUE(missingWalls(place(false, 6)).empty());
  EXPECT_EQ(missingWalls(place(true, 6)).size(), 3U);
}

TEST(MissingWalls, AreNamedWhereTheKernelCannotScopeSignals) {
  ASSERT_EQ(missingWalls(place(false, 5)).size(), 1U);
  EXPECT_NE(missingWalls(place(false, 5))[0].find("6.12"), std::string::npos);
}

TEST(MissingWalls, NameASharedNetworkAndASharedFileSystemInPlace) {
  Place here;
  here.in_place = true;
  here.landlock_abi = 6;
  ASSERT_EQ(missingWalls(here).size(), 1U);
  EXPECT_NE(missingWalls(here)[0].find("file system"), std::string::npos);
  here.own_network = false;
  ASSERT_EQ(missingWalls(here).size(), 2U);
  EXPECT_NE(missingWalls(here)[0].find("advisory"), std::string::npos);
}

}  // namespace
}  // namespace warder::init
