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

TEST(Placeholder, IsShapedLikeAKeyAndNewEachTime) {
  const auto first = makePlaceholder("sk-ant-api03-");
  const auto second = makePlaceholder("sk-ant-api03-");
  EXPECT_EQ(first->size(), 108u);
  EXPECT_THAT(*first, testing::MatchesRegex("sk-ant-api03-[A-Za-z0-9_-]+"));
  EXPECT_NE(*first, *second);
  const auto grants = planGrants({{"a", "anthropic", "", ""}, {"b", "anthropic", "", ""}});
  EXPECT_NE(grants->at(0).placeholder, grants->at(1).placeholder);
}

TEST(Door, IsNamedByALoopbackUrl) {
  EXPECT_EQ(doorUrl(41234), "http://127.0.0.1:41234");
}

TEST(BrokerConfig, ComesBackFromJsonAsItWas) {
  BrokerConfig config;
  config.grants = *plan("https://gateway.example:8443/llm", "/ca.pem");
  config.grants[0].secret_fd = 7;
  config.grants[0].listener_fds = {8, 9};
  config.policy.name = "mine";
  config.policy.allow.push_back({"gateway.example", 8443, {"POST"}, {"/llm/**"}, "job.yaml:3"});
  const BrokerConfig back = brokerConfigFromJson(toJson(config));
  EXPECT_EQ(toJson(back), toJson(config));
  EXPECT_EQ(back.grants[0].listener_fds, config.grants[0].listener_fds);
  EXPECT_EQ(back.policy.allow[0].host, "gateway.example");
}

TEST(Provider, DataIsWholeAndStrict) {
  const auto anthropic = models::providerNamed("anthropic");
  ASSERT_TRUE(anthropic) << anthropic.error().sentence();
  EXPECT_EQ(anthropic->inject_header, "x-api-key");
  EXPECT_EQ(anthropic->routes.size(), 2u);
  EXPECT_FALSE(models::readProvider("x.yaml", "version: 1\nname: x\nunknown: y\n"));
}

double cost(const char* model, models::Usage usage) {
  return models::costOf(*models::providerNamed("anthropic"), model, usage).value_or(-1);
}

TEST(Prices, AreCountedByFamilyAndKindOfToken) {
  const models::Usage million{1'000'000, 1'000'000, 1'000'000, 1'000'000, 0};
  EXPECT_DOUBLE_EQ(cost("claude-opus-4-5-20251101", million), 5 + 25 + 0.5 + 6.25);
  EXPECT_DOUBLE_EQ(cost("claude-opus-5-5", million), 4 + 20 + 0.2 + 5);
  EXPECT_DOUBLE_EQ(cost("claude-opus-5", million), 5 + 25 + 0.5 + 6.25);
  EXPECT_DOUBLE_EQ(cost("claude-opus-4-20250514", million), 15 + 75 + 1.5 + 18.75);
  EXPECT_DOUBLE_EQ(cost("claude-sonnet-4-5", million), 3 + 15 + 0.3 + 3.75);
  EXPECT_DOUBLE_EQ(cost("claude-haiku-4-5", million), 1 + 5 + 0.1 + 1.25);
  EXPECT_DOUBLE_EQ(cost("claude-opus-4-5", models::Usage{0, 0, 0, 1'000'000, 400'000}),
                   0.6 * 6.25 + 0.4 * 10);
  EXPECT_EQ(cost("claude-unheard-of-9", million), -1);
  EXPECT_EQ(cost("", million), -1);
}

TEST(Prices, OfLongPromptsBeginAboveTheirMark) {
  EXPECT_DOUBLE_EQ(cost("claude-haiku-5-5", models::Usage{60'000, 0, 40'000, 0, 0}),
                   (60'000 * 0.1 + 40'000 * 0.01) / 1e6);
  EXPECT_DOUBLE_EQ(cost("claude-haiku-5-5", models::Usage{60'001, 0, 40'000, 0, 0}),
                   (60'001 * 0.5 + 40'000 * 0.05) / 1e6);
}

}  // namespace
}  // namespace warder::secrets
