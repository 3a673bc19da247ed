// `secrets.NAME.inject`: how the job says that a secret is carried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/job/job_reader.h"

namespace warder::job {
namespace {

using ::testing::HasSubstr;

JobReading read(const std::string& inject) {
  const std::string text =
      "version: 1\nagent:\n  command: [\"true\"]\n  workspace: repo\n"
      "secrets:\n  key:\n    from: {fd: 5}\n    inject: " +
      inject + "\n";
  const auto no_file = [](const std::string& path) -> base::Result<std::string> {
    return base::Error{base::Kind::NotFound, "cannot open " + path, ENOENT};
  };
  return readJobText({text, "/jobs/job.yaml", {}, no_file});
}

/// The kind that was read, or what is wrong.
std::string kindOf(const std::string& inject) {
  const JobReading reading = read(inject);
  if (!reading.faults.empty()) return base::render(reading.faults[0]);
  return reading.job.secrets.at(0).inject->kind;
}

TEST(SecretInject, SaysItsKindAndWhatTheKindHas) {
  EXPECT_EQ(kindOf("{kind: bearer}"), "bearer");
  EXPECT_EQ(kindOf("{kind: basic}"), "basic");
  EXPECT_EQ(read("{kind: header, name: x-token}").job.secrets[0].inject->name, "x-token");
  EXPECT_EQ(read("{kind: basic, user: me}").job.secrets[0].inject->user, "me");
  EXPECT_EQ(read("{kind: query, name: key}").job.secrets[0].inject->name, "key");
  const JobReading aws = read("{kind: sigv4, service: s3, region: eu-west-1}");
  EXPECT_EQ(aws.job.secrets[0].inject->service, "s3");
  EXPECT_EQ(aws.job.secrets[0].inject->region, "eu-west-1");
}

TEST(SecretInject, IsRefusedWithWhatWouldBeRight) {
  EXPECT_THAT(kindOf("{kind: header}"), HasSubstr("secrets.key.inject.name"));
  EXPECT_THAT(kindOf("{kind: query}"), HasSubstr("secrets.key.inject.name"));
  EXPECT_THAT(kindOf("{kind: sigv4}"), HasSubstr("secrets.key.inject.service"));
  EXPECT_THAT(kindOf("{kind: bearer, name: x}"), HasSubstr("name"));
  EXPECT_THAT(kindOf("{kind: basic, name: x}"), HasSubstr("name"));
  EXPECT_THAT(kindOf("{kind: barer}"), HasSubstr("\"bearer\""));
  EXPECT_THAT(kindOf("{}"), HasSubstr("secrets.key.inject.kind"));
  EXPECT_THAT(kindOf("bearer"), HasSubstr("secrets.key.inject"));
}

}  // namespace
}  // namespace warder::job
