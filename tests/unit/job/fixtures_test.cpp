// The reader's verdict on texts about which the JSON Schema is asked too
// (tests/lint/schema_test.py).
#include <gmock/gmock.h>

#include "supervisor/job/job_reader.h"
#include "tests/support/fixture.h"

namespace warder::job {
namespace {

std::string faultsOf(const std::string& text) {
  std::string all;
  const JobReading reading = readJobText({text, "/jobs/job.yaml", {}, [](const std::string&) {
                                            return base::Result<std::string>("text");
                                          }});
  for (const auto& fault : reading.faults) all += base::render(fault) + "\n";
  return all;
}

TEST(Fixtures, TheReaderAcceptsThePassingOnes) {
  const auto fixtures = support::fixturesOf("job/fixtures/pass.txt");
  ASSERT_GE(fixtures.size(), 8U);
  for (const auto& fixture : fixtures) EXPECT_EQ(faultsOf(fixture.text), "") << fixture.title;
}

TEST(Fixtures, TheReaderRefusesTheFailingOnesWithTheRightSentence) {
  for (const char* name : {"job/fixtures/fail.txt", "job/fixtures/reader_only.txt"}) {
    const auto fixtures = support::fixturesOf(name);
    ASSERT_GE(fixtures.size(), 18U);
    for (const auto& fixture : fixtures) {
      EXPECT_THAT(faultsOf(fixture.text), ::testing::HasSubstr(fixture.title)) << fixture.text;
    }
  }
}

}  // namespace
}  // namespace warder::job
