#include "secrets/dns/denials.h"

#include <gtest/gtest.h>

namespace warder::dns {
namespace {

TEST(Domains, AreTheEndThatSomebodyOwns) {
  const std::pair<const char*, const char*> table[] = {{"evil.example", "evil.example"},
                                                       {"a.b.EVIL.example", "evil.example"},
                                                       {"x.evil.co.uk", "evil.co.uk"},
                                                       {"evil.co.uk", "evil.co.uk"},
                                                       {"co.uk", "co.uk"},
                                                       {"a.long.uk", "long.uk"},
                                                       {"wpad", "wpad"},
                                                       {"", ""},
                                                       {"a\\046b.evil.example", "evil.example"}};
  for (const auto& [name, domain] : table) EXPECT_EQ(domainOf(name), domain) << name;
}

TEST(DenialsTest, CountsLongLabelsInFrontOfADomain) {
  Denials denials;
  denials.add("aaaa.bbbbbbbb.evil.example");
  denials.add("cc.evil.example");
  denials.add("evil.example");
  const auto told = denials.told();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("queries"), 3U);
  EXPECT_EQ(told[0].at("bytes"), 14U + 3);
  EXPECT_EQ(told[0].at("longest_label"), 8U);
}

TEST(DenialsTest, TellsTheMostAskedFirstAndCountsTheRest) {
  Denials denials;
  for (std::size_t i = 0; i < kDomainsTold + 1; ++i)
    denials.add("x.d" + std::to_string(i) + ".example");
  denials.add("y.d7.example");
  const auto told = denials.told();
  ASSERT_EQ(told.size(), kDomainsTold);
  EXPECT_EQ(told[0].at("domain"), "d7.example");
  EXPECT_EQ(denials.untold(), 1U);
  EXPECT_EQ(denials.total(), kDomainsTold + 2);
}

TEST(DenialsTest, CountsSoManyDomainsAndTheOthersTogether) {
  Denials denials;
  for (std::size_t i = 0; i < kMostDomains; ++i) denials.add("d" + std::to_string(i) + ".example");
  const std::string last = "d" + std::to_string(kMostDomains - 1) + ".example";
  for (int i = 0; i < 3; ++i) denials.add(last);
  for (int i = 0; i < 5; ++i) denials.add("one-more.example");
  const auto told = denials.told();
  EXPECT_EQ(told[0].at("domain"), last.c_str())
      << "the last one within the limit has a count of its own";
  EXPECT_EQ(told[0].at("queries"), 4U);
  for (const auto& domain : told) EXPECT_NE(domain.at("domain"), "one-more.example");
  EXPECT_EQ(denials.total(), kMostDomains + 8);
  EXPECT_EQ(denials.untold(), denials.total() - (4 + kDomainsTold - 1));
}

}  // namespace
}  // namespace warder::dns
