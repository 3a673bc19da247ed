#include "secrets/grant_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secrets/models/provider.h"

namespace warder::secrets {
namespace {

using testing::HasSubstr;

base::Result<std::vector<Grant>> plan(const std::string& base_url,
                                      const std::string& ca_file = "") {
  return planGrants({GrantRequest{"key", "anthropic", base_url, ca_file}});
}

TEST(GrantPlan, TakesTheProvidersAddressWhenTheJobNamesNone) {
  const auto grants = plan("");
  ASSERT_TRUE(grants);
  const Upstream& upstream = grants->at(0).upstream;
  EXPECT_TRUE(upstream.tls);
  EXPECT_EQ(upstream.host, "api.anthropic.com");
  EXPECT_EQ(upstream.port, 443);
  EXPECT_EQ(upstream.base_path, "");
}

TEST(GrantPlan, SplitsAndNormalisesTheUpstream) {
  const Upstream gateway = plan("https://Gateway.Example.:8443/llm/", "/ca.pem")->at(0).upstream;
  EXPECT_EQ(gateway.host, "gateway.example");
  EXPECT_EQ(gateway.port, 8443);
  EXPECT_EQ(gateway.base_path, "/llm");
  EXPECT_EQ(gateway.ca_file, "/ca.pem");
  const Upstream local = plan("http://127.0.0.1:9000")->at(0).upstream;
  EXPECT_FALSE(local.tls);
  EXPECT_EQ(local.port, 9000);
  EXPECT_EQ(plan("https://[2606:4700::1111]/")->at(0).upstream.host, "2606:4700::1111");
  EXPECT_EQ(plan("http://[::1]:80")->at(0).upstream.host, "::1");
}

TEST(GrantPlan, RefusesUpstreamsThatAreNotOneClearPlace) {
  const char* const urls[] = {"api.anthropic.com",
                              "ftp://api.anthropic.com",
                              "http://api.anthropic.com",
                              "http://10.0.0.1",
                              "http://localhost:80",
                              "https://user@api.anthropic.com",
                              "https://user:pw@api.anthropic.com",
                              "https://api.anthropic.com?x=1",
                              "https://api.anthropic.com#x",
                              "https://api.anthropic.com:0",
                              "https://api.anthropic.com:99999",
                              "https://",
                              "https://a b/",
                              "https://api.anthropic.com/a/../b",
                              "https://api.anthropic.com/%2e%2e",
                              "https://evil%00.example"};
  for (const char* url : urls) {
    const auto grants = plan(url);
    ASSERT_FALSE(grants) << url;
    EXPECT_THAT(grants.error().sentence(), HasSubstr("secret \"key\"")) << url;
  }
}

TEST(GrantPlan, NamesTheKnownProvidersWhenOneIsUnknown) {
  const auto grants = planGrants({GrantRequest{"key", "antropic", "", ""}});
  ASSERT_FALSE(grants);
  EXPECT_THAT(grants.error().sentence(), HasSubstr("anthropic"));
}

std::string placeholderOf(const char* provider, std::string base_url = "") {
  GrantRequest request{"key", provider, std::move(base_url), ""};
  if (request.provider == "generic")
    request.inject = http::CredentialKind{http::CredentialKind::Kind::Bearer, "", "", "", "", {}};
  const auto grants = planGrants({request});
  return grants ? grants->at(0).placeholder : grants.error().sentence();
}

TEST(Placeholder, IsShapedLikeAKeyOfItsProviderAndIsNone) {
  using testing::MatchesRegex;
  // As long as real ones, with an end or beginning that no real one has.
  EXPECT_THAT(placeholderOf("anthropic"), MatchesRegex("sk-ant-api03-[A-Za-z0-9_-]{93}-w"));
  EXPECT_THAT(placeholderOf("openai"), MatchesRegex("sk-proj-[A-Za-z0-9_-]{154}-w"));
  EXPECT_THAT(placeholderOf("gemini"), MatchesRegex("AIzaWy[A-Za-z0-9_-]{33}"));
  EXPECT_THAT(placeholderOf("bedrock"), MatchesRegex("AKIA[A-Z2-7]{12}0819"));
  EXPECT_THAT(placeholderOf("github"), MatchesRegex("ghp_[A-Za-z0-9]{30}zzzzzz"));
  EXPECT_THAT(placeholderOf("generic", "https://api.example"), MatchesRegex("wdr-[A-Za-z0-9]{48}"));
  EXPECT_THAT(planGrants({{"key", "bedrock", "", ""}})->at(0).placeholder_secret,
              MatchesRegex("[A-Za-z0-9+/]{40}"));
}

TEST(Placeholder, IsNewEachTime) {
  EXPECT_NE(placeholderOf("anthropic"), placeholderOf("anthropic"));
  const auto grants = planGrants({{"a", "anthropic", "", ""}, {"b", "anthropic", "", ""}});
  EXPECT_NE(grants->at(0).placeholder, grants->at(1).placeholder);
}

TEST(Placeholder, MayBeATokenThatDecodesAndIsNotOver) {
  models::PlaceholderShape shape;
  shape.form = models::PlaceholderShape::Form::Jwt;
  const auto token = makePlaceholder(shape);
  ASSERT_TRUE(token);
  // {"alg":"RS256","typ":"JWT"}, then {"sub":"…, then 256 bytes of signature.
  EXPECT_THAT(*token, testing::MatchesRegex(
                          "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9\\.eyJzdWIiOi[A-Za-z0-9_-]+"
                          "\\.[A-Za-z0-9_-]{342}"));
  EXPECT_NE(*token, *makePlaceholder(shape));
  // The end of the payload: ,"exp":4102444800}
  EXPECT_THAT(*token, HasSubstr("ImV4cCI6NDEwMjQ0NDgwMH0"));
}

TEST(GrantPlan, TakesEveryHostOfAProviderUnlessTheJobNamesOne) {
  const auto github = planGrants({{"git", "github", "", ""}})->at(0);
  EXPECT_EQ(github.upstream.host, "github.com");
  ASSERT_EQ(github.also.size(), 1u);
  EXPECT_EQ(github.also[0].host, "api.github.com");
  EXPECT_TRUE(planGrants({{"git", "github", "https://git.example", ""}})->at(0).also.empty());
}

TEST(GrantPlan, WantsToKnowWhereAndHowAGenericSecretGoes) {
  GrantRequest request{"key", "generic", "", ""};
  EXPECT_THAT(planGrants({request}).error().sentence(), HasSubstr("needs base_url"));
  request.base_url = "https://api.example";
  EXPECT_THAT(planGrants({request}).error().sentence(), HasSubstr("needs inject"));
  request.inject.emplace();
  request.inject->name = "Host";
  EXPECT_THAT(planGrants({request}).error().sentence(), HasSubstr("header"));
  request.inject->name = "x-token";
  EXPECT_EQ(planGrants({request})->at(0).inject, request.inject);
}

std::string carriage(const char* provider, std::string_view secret) {
  Grant grant;
  grant.name = "key";
  grant.provider = provider;
  const auto kind = carriageOf(grant, models::providerNamed(provider)->kinds, secret);
  return kind ? std::string(http::nameOf(kind->kind)) : kind.error().sentence();
}

TEST(Carriage, IsTheJobsElseTheOneOfTheSecretsKind) {
  EXPECT_EQ(carriage("anthropic", "sk-ant-api03-x"), "header");
  EXPECT_EQ(carriage("anthropic", "sk-ant-oat01-x"), "bearer");
  EXPECT_THAT(carriage("anthropic", "sk-ant-admin01-hidden"), HasSubstr("admin key"));
  EXPECT_THAT(carriage("anthropic", "sk-ant-admin01-hidden"),
              testing::Not(HasSubstr("admin01-hidden")));
  EXPECT_THAT(carriage("generic", "hidden-hidden"), HasSubstr("no kind of secret"));
  Grant grant;
  grant.inject.emplace();
  EXPECT_EQ(carriageOf(grant, {}, "x")->kind, http::CredentialKind::Kind::Header);
}

/// What is wrong with lending so, or "fine".
std::string lendingOf(const std::string& provider, GrantTerms terms) {
  GrantRequest request{"key", provider, provider == "generic" ? "https://a.example" : "", ""};
  if (provider == "generic") request.inject.emplace().kind = http::CredentialKind::Kind::Bearer;
  request.terms = std::move(terms);
  const auto planned = planGrants({request});
  return planned ? "fine" : planned.error().sentence();
}

GrantTerms withAllow(std::vector<std::string> methods, std::string path) {
  GrantTerms terms;
  terms.allow.push_back({std::move(methods), {std::move(path)}});
  return terms;
}

TEST(Terms, ThatCouldNotBeHeldAreRefused) {
  GrantTerms terms;
  terms.models = {"x"};
  EXPECT_EQ(lendingOf("anthropic", terms), "fine");
  EXPECT_THAT(lendingOf("generic", terms), HasSubstr("models cannot be held at generic"));
  terms = {};
  terms.budget.requests = 5;
  EXPECT_EQ(lendingOf("openai", terms), "fine");
  EXPECT_THAT(lendingOf("github", terms), HasSubstr("budget cannot be held at github"));
  terms = {};
  terms.provider_fetch = true;
  EXPECT_THAT(lendingOf("generic", terms), HasSubstr("provider_fetch cannot be held"));
  terms = {};
  terms.budget.concurrency = 5;
  EXPECT_EQ(lendingOf("generic", terms), "fine");
}

TEST(Terms, AllowOnlyWhatTheProviderHas) {
  EXPECT_EQ(lendingOf("anthropic", withAllow({"POST"}, "/v1/messages")), "fine");
  EXPECT_EQ(lendingOf("anthropic", withAllow({}, "/v1/**")), "fine");
  EXPECT_EQ(lendingOf("generic", withAllow({"GET"}, "/anything/*/at/all")), "fine");
  EXPECT_THAT(lendingOf("anthropic", withAllow({"DELETE"}, "/v1/messages")),
              HasSubstr("no request that /v1/messages lets through"));
  EXPECT_THAT(lendingOf("anthropic", withAllow({}, "/v2/messages")), HasSubstr("no request"));
  EXPECT_THAT(lendingOf("generic", withAllow({}, "/a**b")), HasSubstr("more than one *"));
}

TEST(Door, IsNamedByALoopbackUrl) {
  EXPECT_EQ(doorUrl(41234), "http://127.0.0.1:41234");
}

TEST(BrokerConfig, ComesBackFromJsonAsItWas) {
  BrokerConfig config;
  config.grants = *plan("https://gateway.example:8443/llm", "/ca.pem");
  config.grants[0].secret_fd = 7;
  config.grants[0].placeholder_secret = "partner";
  config.grants[0].also.push_back({true, "other.example", 8443, "/x", "/ca.pem"});
  config.grants[0].inject =
      http::CredentialKind{http::CredentialKind::Kind::SigV4, "n", "u", "r", "s", {}};
  config.grants[0].listener_fds = {8, 9};
  config.policy.name = "mine";
  config.policy.allow.push_back({"gateway.example", 8443, {"POST"}, {"/llm/**"}, "job.yaml:3"});
  const BrokerConfig back = brokerConfigFromJson(toJson(config));
  EXPECT_EQ(toJson(back), toJson(config));
  EXPECT_EQ(back.grants[0].inject, config.grants[0].inject);
  EXPECT_EQ(back.grants[0].also[0].host, "other.example");
  EXPECT_EQ(back.grants[0].listener_fds, config.grants[0].listener_fds);
  EXPECT_EQ(back.policy.allow[0].host, "gateway.example");
}

}  // namespace
}  // namespace warder::secrets
