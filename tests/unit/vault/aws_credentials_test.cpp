#include "secrets/vault/aws_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace warder::vault {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(AwsCredentials, AreReadFromJsonAsAnyToolWritesIt) {
  const char* const texts[] = {
      R"({"access_key_id":"AKIAIOSFODNN7EXAMPLE","secret_access_key":"wJalr/UtnFEMI+K7"})",
      R"( { "AccessKeyId" : "AKIAIOSFODNN7EXAMPLE", "Version": 1, "x": null, "y": -1.5e3,
           "SecretAccessKey" : "wJalr/UtnFEMI+K7", "Expiration": "2026-11-30T12:00:00Z" } )",
      R"({"AWS_SECRET_ACCESS_KEY":"wJalr/UtnFEMI+K7","AWS_ACCESS_KEY_ID":"AKIAIOSFODNN7EXAMPLE"})"};
  for (const std::string text : texts) {
    const auto found = readAwsCredentials(text);
    ASSERT_TRUE(found) << text << found.error().sentence();
    EXPECT_EQ(found->id, "AKIAIOSFODNN7EXAMPLE");
    EXPECT_EQ(found->secret, "wJalr/UtnFEMI+K7");
    EXPECT_EQ(found->token, "");
    // Where they stand, not copies.
    EXPECT_GE(found->secret.data(), text.data());
    EXPECT_LE(found->secret.data() + found->secret.size(), text.data() + text.size());
  }
}

TEST(AwsCredentials, AreReadFromTheLinesOfOneProfile) {
  const auto found = readAwsCredentials(
      "# mine\r\n[default]\r\n  region = eu-west-1\r\naws_access_key_id=AKIAIOSFODNN7EXAMPLE\r\n"
      "aws_secret_access_key = wJalr/UtnFEMI+K7  \r\n\r\n; and\r\naws_session_token = FQoG==tok");
  ASSERT_TRUE(found) << found.error().sentence();
  EXPECT_EQ(found->id, "AKIAIOSFODNN7EXAMPLE");
  EXPECT_EQ(found->secret, "wJalr/UtnFEMI+K7");
  EXPECT_EQ(found->token, "FQoG==tok");
}

TEST(AwsCredentials, AreRefusedWithASentenceThatDoesNotShowThem) {
  const std::string id = "aws_access_key_id=AKIAIOSFODNN7EXAMPLE\n";
  const std::string key = "aws_secret_access_key=hiddenhidden\n";
  const struct {
    std::string text, sentence;
  } cases[] = {
      {"", "no access_key_id"},
      {"{}", "no access_key_id"},
      {id, "no secret_access_key"},
      {id + key + id, "twice"},
      {"[a]\n" + id + key + "[b]\n" + id + key, "more than one profile"},
      {id + key + "[b]\n", "more than one profile"},
      {id + "hiddenhidden", "none of KEY = VALUE"},
      {id + "aws_secret_access_key=hidden hidden", "no key of AWS"},
      {id + "aws_secret_access_key=hidden\thidden", "no key of AWS"},
      {id + "aws_secret_access_key=hidden%", "no key of AWS"},
      {id + "aws_secret_access_key=hidden1", "less than 8"},
      {id + key + "aws_session_token=hidden1", "less than 8"},
      {"aws_access_key_id=hidden1\n" + key, "access_key_id of less than 8"},
      {"aws_access_key_id=" + std::string(129, 'h') + "\n" + key, "more than 128"},
      {R"({"access_key_id":"AKIAIOSFODNN7EXAMPLE","secret_access_key":"hidden\/hidden"})",
       "plain texts"},
      {R"({"access_key_id":"AKIAIOSFODNN7EXAMPLE","secret_access_key":{"a":"hidden"}})", "flat"},
      {R"({"access_key_id":"AKIAIOSFODNN7EXAMPLE","secret_access_key":"hidden)", "flat"},
      {R"({"access_key_id":"AKIAIOSFODNN7EXAMPLE","secret_access_key":"hidden12"} x)", "no JSON"},
      {R"({"access_key_id":"AKIAIOSFODNN7EXAMPLE","secret_access_key":"hidden12")", "no JSON"},
      {R"({"access_key_id":"AKIAIOSFODNN7EXAMPLE",})", "flat"}};
  for (const auto& one : cases) {
    const auto found = readAwsCredentials(one.text);
    ASSERT_FALSE(found) << one.text;
    EXPECT_THAT(found.error().sentence(), HasSubstr(one.sentence)) << one.text;
    EXPECT_THAT(found.error().sentence(), Not(HasSubstr("hidden")));
    EXPECT_EQ(found.error().kind, base::Kind::Config);
  }
}

TEST(AwsCredentials, MayBeAsLongAsTheirLimitsAndAsShort) {
  EXPECT_TRUE(readAwsCredentials("aws_access_key_id=" + std::string(128, 'h') +
                                 "\naws_secret_access_key=12345678\naws_session_token=12345678"));
  EXPECT_TRUE(readAwsCredentials("aws_access_key_id=12345678\naws_secret_access_key=12345678"));
}

}  // namespace
}  // namespace warder::vault
