#include "secrets/vault/credential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <type_traits>

#include "tests/support/secret.h"

namespace warder::vault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Kind = CredentialKind::Kind;

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

// BC-031: a secret lives in a type that nobody can print or copy.
static_assert(!std::is_copy_constructible_v<Credential>);
static_assert(!std::is_copy_assignable_v<Credential>);
static_assert(!std::is_convertible_v<Credential, std::string>);
static_assert(!std::is_convertible_v<Credential, std::string_view>);
static_assert(!Streamable<Credential>);

CredentialKind kindOf(Kind kind, std::string name = "", std::string user = "") {
  CredentialKind result;
  result.kind = kind;
  result.name = std::move(name);
  result.user = std::move(user);
  return result;
}

std::string refusalOf(const CredentialKind& kind, std::string_view secret) {
  const auto made = Credential::make(kind, *secretOf(secret));
  return made ? "" : made.error().sentence();
}

TEST(Credential, IsAHeaderOfTheKindsName) {
  const auto made = Credential::make(kindOf(Kind::Header, "x-api-key"), *secretOf("sk-ant-real"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->lines(), "x-api-key: sk-ant-real\r\n");
  EXPECT_EQ(made->queryPart(), "");
  EXPECT_THAT(made->hidden(), ElementsAre("sk-ant-real"));
  EXPECT_FALSE(made->signs());
  // It stands there once: what is hidden is the part of the line.
  EXPECT_EQ(made->hidden()[0].data(), made->lines().data() + 11);
}

TEST(Credential, IsABearerToken) {
  const auto made = Credential::make(kindOf(Kind::Bearer), *secretOf("sk-ant-real"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->lines(), "Authorization: Bearer sk-ant-real\r\n");
  EXPECT_THAT(made->hidden(), ElementsAre("sk-ant-real"));
}

TEST(Credential, IsBasicWithTheUserOfItsKind) {
  const auto made =
      Credential::make(kindOf(Kind::Basic, "", "x-access-token"), *secretOf("ghp_real:1"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->lines(), "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hwX3JlYWw6MQ==\r\n");
  EXPECT_THAT(made->hidden(), ElementsAre("ghp_real:1", "eC1hY2Nlc3MtdG9rZW46Z2hwX3JlYWw6MQ=="));
}

TEST(Credential, IsBasicWithTheUserInTheSecret) {
  const auto made = Credential::make(kindOf(Kind::Basic), *secretOf("me:pass:word"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->lines(), "Authorization: Basic bWU6cGFzczp3b3Jk\r\n");
  EXPECT_THAT(made->hidden(), ElementsAre("pass:word", "bWU6cGFzczp3b3Jk"));
  EXPECT_TRUE(Credential::make(kindOf(Kind::Basic), *secretOf("me:12345678")));
  EXPECT_THAT(refusalOf(kindOf(Kind::Basic), "me:1234567"), HasSubstr("less than 8"));
  EXPECT_THAT(refusalOf(kindOf(Kind::Basic), "only-a-password"), HasSubstr("USER:PASSWORD"));
}

TEST(Credential, IsAParameterOfTheQuery) {
  const auto plain = Credential::make(kindOf(Kind::Query, "key"), *secretOf("AIza_real-1.2~3"));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->queryPart(), "key=AIza_real-1.2~3");
  EXPECT_EQ(plain->lines(), "");
  EXPECT_THAT(plain->hidden(), ElementsAre("AIza_real-1.2~3"));
  EXPECT_EQ(plain->hidden()[0].data(), plain->queryPart().data() + 4);
  const auto odd = Credential::make(kindOf(Kind::Query, "api_key"), *secretOf("a/b+c=d&e%f#g"));
  EXPECT_EQ(odd->queryPart(), "api_key=a%2Fb%2Bc%3Dd%26e%25f%23g");
  EXPECT_THAT(odd->hidden(), ElementsAre("a/b+c=d&e%f#g"));
}

TEST(Credential, OfAwsHidesItsSecretAndItsTokenAndNotItsName) {
  CredentialKind kind = kindOf(Kind::SigV4);
  kind.service = "bedrock";
  const auto made = Credential::make(
      kind, *secretOf("[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n"
                      "aws_secret_access_key = secret/key\naws_session_token = token/token\n"));
  ASSERT_TRUE(made) << made.error().sentence();
  EXPECT_TRUE(made->signs());
  EXPECT_EQ(made->lines(), "");
  EXPECT_THAT(made->hidden(), ElementsAre("secret/key", "token/token"));
}

TEST(Credential, TakesTheLongestSecretOfEveryKind) {
  const std::string longest(kMaxSecretBytes, '%');
  EXPECT_EQ(
      Credential::make(kindOf(Kind::Query, std::string(64, 'k')), *secretOf(longest))->queryPart(),
      std::string(64, 'k') + "=" + [] {
        std::string all;
        for (std::size_t i = 0; i < kMaxSecretBytes; ++i) all += "%25";
        return all;
      }());
  const std::string user(300, 'u');
  EXPECT_TRUE(Credential::make(kindOf(Kind::Basic, "", user), *secretOf(longest)));
  EXPECT_TRUE(Credential::make(kindOf(Kind::Bearer), *secretOf(longest)));
}

TEST(Credential, IsNotMadeOfWhatIsNoneAndNeverShowsIt) {
  CredentialKind aws = kindOf(Kind::SigV4);
  aws.service = "bedrock";
  const struct {
    CredentialKind kind;
    std::string secret, sentence;
  } cases[] = {{kindOf(Kind::Bearer), "hidden hidden", "space"},
               {kindOf(Kind::Header, "x-api-key"), "hidden\nX-Evil: 1", "several lines"},
               {kindOf(Kind::Basic, "", "me"), "hidden hidden", "space"},
               {kindOf(Kind::Header, "Host"), "hiddenhidden", "header"},
               {kindOf(Kind::Header, "host"), "hiddenhidden", "frame"},
               {kindOf(Kind::Header, "transfer-encoding"), "hiddenhidden", "frame"},
               {kindOf(Kind::Header, "x y"), "hiddenhidden", "header"},
               {kindOf(Kind::Header, "x\r\ny"), "hiddenhidden", "header"},
               {kindOf(Kind::Header, ""), "hiddenhidden", "header"},
               {kindOf(Kind::Header, std::string(65, 'x')), "hiddenhidden", "header"},
               {kindOf(Kind::Query, "a&b"), "hiddenhidden", "parameter"},
               {kindOf(Kind::Basic, "", "a:b"), "hiddenhidden", "colon"},
               {kindOf(Kind::SigV4), "hiddenhidden", "service"},
               {aws, "hiddenhidden", "KEY = VALUE"},
               {aws, R"({"access_key_id":"hidden"})", "no secret_access_key"}};
  for (const auto& one : cases) {
    EXPECT_THAT(refusalOf(one.kind, one.secret), HasSubstr(one.sentence)) << one.secret;
    EXPECT_THAT(refusalOf(one.kind, one.secret), Not(HasSubstr("hidden")));
  }
  EXPECT_TRUE(Credential::make(kindOf(Kind::Header, std::string(64, 'x')), *secretOf("12345678")));
}

TEST(Credential, StaysWhereItIsWhenItIsMoved) {
  auto first = Credential::make(kindOf(Kind::Bearer), *secretOf("sk-ant-real"));
  const char* where = first->lines().data();
  const Credential second = std::move(*first);
  EXPECT_EQ(second.lines().data(), where);
  EXPECT_EQ(second.hidden()[0], "sk-ant-real");
}

TEST(CredentialKind, IsNamedAsYamlFilesNameIt) {
  for (const char* name : {"header", "bearer", "basic", "query", "sigv4"})
    EXPECT_EQ(http::nameOf(*http::credentialKindNamed(name)), name);
  EXPECT_FALSE(http::credentialKindNamed("Header"));
}

}  // namespace
}  // namespace warder::vault
