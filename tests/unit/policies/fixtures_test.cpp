// The reader's verdict on texts about which the JSON Schema is asked too
// (tests/lint/schema_test.py).
#include <gmock/gmock.h>

#include "policies/policy_reader.h"
#include "tests/support/fixture.h"

namespace warder::policies {
namespace {

std::string faultsOf(const std::string& text) {
  std::string all;
  for (const auto& fault : readPolicyText(text, "p.yaml", "p").faults) {
    all += base::render(fault) + "\n";
  }
  return all;
}

TEST(Fixtures, TheReaderAcceptsThePassingOnes) {
  const auto fixtures = support::fixturesOf("policies/fixtures/pass.txt");
  ASSERT_GE(fixtures.size(), 4U);
  for (const auto& fixture : fixtures) EXPECT_EQ(faultsOf(fixture.text), "") << fixture.title;
}

TEST(Fixtures, TheReaderRefusesTheFailingOnesWithTheRightSentence) {
  for (const char* name : {"policies/fixtures/fail.txt", "policies/fixtures/reader_only.txt"}) {
    const auto fixtures = support::fixturesOf(name);
    ASSERT_GE(fixtures.size(), 6U);
    for (const auto& fixture : fixtures) {
      EXPECT_THAT(faultsOf(fixture.text), ::testing::HasSubstr(fixture.title)) << fixture.text;
    }
  }
}

}  // namespace
}  // namespace warder::policies
