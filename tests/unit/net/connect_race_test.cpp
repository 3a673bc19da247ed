// The order in which the addresses of a name are tried (BC-071).
#include "supervisor/net/connect_race.h"

#include <gmock/gmock.h>

namespace warder::net {
namespace {

using testing::ElementsAre;

std::vector<std::string> inTurn(const std::vector<std::string>& texts) {
  std::vector<boost::asio::ip::address> all;
  for (const std::string& text : texts) all.push_back(boost::asio::ip::make_address(text));
  std::vector<std::string> order;
  for (const auto& address : familiesInTurn(std::move(all))) order.push_back(address.to_string());
  return order;
}

TEST(FamiliesInTurn, Bc071TheFirstFamilyBeginsAndBothAlternate) {
  EXPECT_THAT(inTurn({"2000::1", "2000::2", "2000::3", "1.1.1.1", "1.1.1.2"}),
              ElementsAre("2000::1", "1.1.1.1", "2000::2", "1.1.1.2", "2000::3"));
  EXPECT_THAT(inTurn({"1.1.1.1", "1.1.1.2", "2000::1"}),
              ElementsAre("1.1.1.1", "2000::1", "1.1.1.2"));
  EXPECT_THAT(inTurn({"1.1.1.2", "1.1.1.1"}), ElementsAre("1.1.1.2", "1.1.1.1"));
  EXPECT_THAT(inTurn({}), ElementsAre());
}

TEST(FamiliesInTurn, ThousandsOfAddressesAreCut) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < kMostAddresses; ++i) all.push_back("1.1.1." + std::to_string(i));
  EXPECT_EQ(inTurn(all).size(), kMostAddresses);
  all.push_back("1.1.2.1");
  EXPECT_EQ(inTurn(all).size(), kMostAddresses);
  all.push_back("2000::1");  // the other family has its turn all the same
  EXPECT_EQ(inTurn(all)[1], "2000::1");
}

TEST(AttemptDelay, Bc071TheOtherFamilyIsTriedInLessThan300Milliseconds) {
  static_assert(kAttemptDelay.count() < 300);
  static_assert(kAttemptDelay.count() >= 100, "RFC 8305, section 5: no less, or every dial races");
}

}  // namespace
}  // namespace warder::net
