#include "secrets/dns/name_table.h"

#include <gtest/gtest.h>

#include <set>

namespace warder::dns {
namespace {

using boost::asio::ip::make_address;

TEST(NameTable, GivesEachNameOneAddressOfEachFamily) {
  NameTable table;
  const auto first = table.addressesOf("a.example");
  const auto second = table.addressesOf("b.example");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->v4.to_string(), "198.18.0.1");
  EXPECT_EQ(second->v4.to_string(), "198.18.0.2");
  EXPECT_EQ(first->v6, make_address("fd57:4152:4445:5200::c612:1").to_v6());
  EXPECT_EQ(table.addressesOf("a.example")->v4, first->v4) << "for the run's life";
  EXPECT_EQ(table.size(), 2U);
}

TEST(NameTable, LeadsAnAddressBackToExactlyOneName) {
  NameTable table;
  const auto first = table.addressesOf("a.example");
  table.addressesOf("b.example");
  EXPECT_EQ(table.nameOf(first->v4), "a.example");
  EXPECT_EQ(table.nameOf(first->v6), "a.example");
  EXPECT_EQ(table.nameOf(make_address("::ffff:198.18.0.2")), "b.example");
}

TEST(NameTable, KnowsNoNameForAnyOtherAddress) {
  NameTable table;
  table.addressesOf("a.example");
  for (const char* address :
       {"198.18.0.0", "198.18.0.2", "198.19.255.255", "198.17.255.255", "198.20.0.0", "0.0.0.0",
        "1.2.3.4", "::1", "::", "fd57:4152:4445:5200::1", "fd57:4152:4445:5200::c612:0",
        "fd57:4152:4445:5200::c612:2", "fd57:4152:4445:5200:1::c612:1",
        "fd57:4152:4445:5201::c612:1", "fd57:4152:4445:5200::102:304", "::ffff:198.18.0.2",
        "::198.18.0.1"})
    EXPECT_EQ(table.nameOf(make_address(address)), "") << address;
}

TEST(NameTable, TellsItsRangesFromTheRest) {
  for (const char* address : {"198.18.0.0", "198.18.0.1", "198.19.255.255", "::ffff:198.18.0.1",
                              "fd57:4152:4445:5200::", "fd57:4152:4445:52ff:ffff::"}) {
    const auto is_last = std::string_view(address) == "fd57:4152:4445:52ff:ffff::";
    EXPECT_EQ(isSynthetic(make_address(address)), !is_last) << address;
  }
  EXPECT_TRUE(isSynthetic(make_address("fd57:4152:4445:5200:ffff:ffff:ffff:ffff")));
  for (const char* address :
       {"198.17.255.255", "198.20.0.0", "0.0.0.0", "::", "::1", "fd57:4152:4445:5201::", "fd00::1",
        "fd57:4152:4445:51ff:ffff:ffff:ffff:ffff", "::ffff:198.20.0.0"})
    EXPECT_FALSE(isSynthetic(make_address(address))) << address;
}

TEST(NameTable, IsFullAtItsLimitAndUsesNoAddressAgain) {
  NameTable table;
  std::set<boost::asio::ip::address_v4> seen;
  for (std::size_t i = 0; i < kMostNames; ++i) {
    const std::string name = "n" + std::to_string(i) + ".example";
    const auto addresses = table.addressesOf(name);
    ASSERT_TRUE(addresses) << name;
    ASSERT_TRUE(seen.insert(addresses->v4).second) << name;
  }
  EXPECT_FALSE(table.addressesOf("one-more.example"));
  EXPECT_EQ(table.addressesOf("n0.example")->v4.to_string(), "198.18.0.1");
  EXPECT_EQ(table.nameOf(*seen.rbegin()), "n" + std::to_string(kMostNames - 1) + ".example");
  EXPECT_EQ(table.size(), kMostNames);
}

}  // namespace
}  // namespace warder::dns
