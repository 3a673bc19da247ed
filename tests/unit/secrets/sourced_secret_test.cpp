#include "secrets/sourced_secret.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secrets/renewals.h"

namespace warder::secrets {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;
using testing::HasSubstr;
using testing::Not;

Grant grantOf(GrantSource::Kind kind, const std::string& provider = "anthropic") {
  Grant grant;
  grant.name = "key";
  grant.provider = provider;
  grant.source.kind = kind;
  grant.source.path = "secret/data/x";
  grant.source.field = "value";
  return grant;
}

base::Result<SourcedSecret> wrote(const std::string& output,
                                  const std::string& provider = "anthropic") {
  const auto fd = base::sealedText("secret", output);
  return readSourced(fd->get(), grantOf(GrantSource::Kind::Helper, provider));
}

/// The secret, or what is wrong.
std::string secretOf(const base::Result<SourcedSecret>& sourced) {
  return sourced ? std::string(sourced->secret.reveal()) : sourced.error().sentence();
}

base::Result<SourcedSecret> vaultSaid(const std::string& body) {
  return secretInVaultAnswer(body, grantOf(GrantSource::Kind::Vault));
}

TEST(HelperOutput, is_the_secret_itself_or_an_object_that_names_its_end) {
  EXPECT_EQ(secretOf(wrote("sk-ant-one\n")), "sk-ant-one");
  EXPECT_EQ(secretOf(wrote("{\"secret\": \"sk-ant-two\"}\n")), "sk-ant-two");
  EXPECT_FALSE(wrote("{\"secret\": \"sk-ant-two\"}")->expires_at);
  const auto timed =
      wrote("{\n  \"secret\": \"sk-\\u0061nt-three\",\n \"expires_at\": \"2030-01-01T00:00:00Z\"}");
  EXPECT_EQ(secretOf(timed), "sk-ant-three");
  EXPECT_EQ(system_clock::to_time_t(*timed->expires_at), 1'893'456'000);
}

TEST(HelperOutput, that_is_neither_is_refused_without_showing_it) {
  const struct {
    const char* output;
    const char* why;
  } cases[] = {
      {"", "is empty"},
      {"hidden hidden", "holds a space"},
      {"{\"token\": \"hidden-hidden\"}", "without a text \"secret\""},
      {"{\"secret\": 12345678}", "without a text \"secret\""},
      {"{\"secret\": \"hidden-hidden\"", "without a text \"secret\""},
      {"{\"secret\": \"short\"}", "shorter than 8 bytes"},
      {"{\"secret\": \"hidden hidden\"}", "holds a space"},
      {"{\"secret\": \"hidden-hidden\", \"expires_at\": \"tomorrow\"}", "no point in time"},
      {"{\"secret\": \"hidden-hidden\", \"expires_at\": \"2001-01-01T00:00:00Z\"}", "in the past"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(secretOf(wrote(one.output)), HasSubstr(one.why)) << one.output;
    EXPECT_THAT(secretOf(wrote(one.output)), Not(HasSubstr("hidden-hidden")));
  }
}

TEST(HelperOutput, of_aws_is_a_document_with_an_end) {
  const std::string text =
      "{\"Version\": 1, \"AccessKeyId\": \"AKIAIOSFODNN7EXAMPLE\", \"SecretAccessKey\": "
      "\"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\", \"SessionToken\": \"token-token\", "
      "\"Expiration\": \"2030-01-01T00:00:00Z\"}";
  const auto sourced = wrote(text, "bedrock");
  EXPECT_EQ(secretOf(sourced), text);
  ASSERT_TRUE(sourced->expires_at);
  EXPECT_EQ(system_clock::to_time_t(*sourced->expires_at), 1'893'456'000);
}

TEST(HelperOutput, that_somebody_still_holds_is_refused_at_once) {
  auto pipe = base::makePipe();
  ASSERT_TRUE(base::setNonBlocking(pipe->read.get(), true));
  ASSERT_TRUE(base::writeAll(pipe->write.get(), "sk-ant-half"));
  const auto sourced = readSourced(pipe->read.get(), grantOf(GrantSource::Kind::Helper));
  EXPECT_THAT(secretOf(sourced), HasSubstr("still holds its output"));
}

TEST(Handed, is_never_taken_for_an_object) {
  const auto fd = base::sealedText("secret", "{\"secret\":\"sk-ant-two\"}");
  const auto sourced = readSourced(fd->get(), grantOf(GrantSource::Kind::Handed));
  EXPECT_EQ(secretOf(sourced), "{\"secret\":\"sk-ant-two\"}");
}

TEST(VaultAnswer, has_the_secret_at_data_data_and_its_field) {
  const auto sourced = vaultSaid(
      R"({"request_id":"x","lease_duration":0,"data":{"data":{"other":"a","value":"sk-ant-one"},)"
      R"("metadata":{"version":3}}})");
  EXPECT_EQ(secretOf(sourced), "sk-ant-one");
  EXPECT_FALSE(sourced->expires_at);
  const auto leased =
      vaultSaid(R"({"lease_duration":3600,"data":{"data":{"value":"sk-ant-one"}}})");
  EXPECT_GT(*leased->expires_at, system_clock::now() + seconds(3500));
}

TEST(VaultAnswer, that_has_none_is_refused_without_showing_it) {
  EXPECT_THAT(secretOf(vaultSaid("{\"data\":{\"value\":\"hidden-hidden\"}}")),
              HasSubstr("key-value store, version 2"));
  EXPECT_THAT(secretOf(vaultSaid("{\"data\":{\"data\":null}}")), HasSubstr("no data.data"));
  EXPECT_THAT(secretOf(vaultSaid("<html>")), HasSubstr("no data.data"));
  EXPECT_THAT(secretOf(vaultSaid("{\"data\":{\"data\":{\"x\":\"hidden-hidden\"}}}")),
              testing::AllOf(HasSubstr("has no text value"), Not(HasSubstr("hidden"))));
  EXPECT_THAT(secretOf(vaultSaid("{\"data\":{\"data\":{\"value\":7}}}")),
              HasSubstr("has no text value"));
  EXPECT_THAT(secretOf(vaultSaid("{\"data\":{\"data\":{\"value\":\"two words\"}}}")),
              HasSubstr("holds a space"));
}

TEST(NextAsking, is_by_the_clock_only_where_there_is_somebody_to_ask) {
  const auto now = system_clock::now();
  GrantSource source;
  EXPECT_FALSE(nextAsking(source, now + seconds(100), now));
  source.kind = GrantSource::Kind::Helper;
  EXPECT_FALSE(nextAsking(source, std::nullopt, now));
  EXPECT_EQ(nextAsking(source, now + seconds(100), now), seconds(80));
  source.refresh = seconds(30);
  EXPECT_EQ(nextAsking(source, std::nullopt, now), seconds(30));
  EXPECT_EQ(nextAsking(source, now + seconds(100), now), seconds(30));
  EXPECT_EQ(nextAsking(source, now + seconds(10), now), seconds(8));
  EXPECT_EQ(nextAsking(source, now + seconds(1), now), kSoonest);
  EXPECT_EQ(nextAsking(source, now - seconds(1), now), kSoonest);
}

}  // namespace
}  // namespace warder::secrets
