#include "secrets/models/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warder::models {
namespace {

using testing::HasSubstr;
using Carried = http::CredentialKind::Kind;

TEST(Provider, DataOfEachIsWhole) {
  const auto all = allProviders();
  ASSERT_TRUE(all) << all.error().sentence();
  std::vector<std::string> names;
  for (const Provider& provider : *all) {
    names.push_back(provider.name);
    EXPECT_FALSE(provider.routes.empty()) << provider.name;
    EXPECT_GE(provider.placeholder.random, 12u) << provider.name;
    // The last kind takes whatever the others did not.
    EXPECT_TRUE(provider.kinds.empty() || provider.kinds.back().prefixes.empty()) << provider.name;
    for (const Route& route : provider.routes)
      EXPECT_TRUE(!route.bills || route.dialect != Dialect::None) << provider.name << route.path;
    for (const Price& price : provider.prices) {
      EXPECT_GT(price.rates.input, 0) << price.models[0];
      EXPECT_GE(price.rates.output, price.rates.input) << price.models[0];
      EXPECT_LE(price.rates.cache_read, price.rates.input) << price.models[0];
    }
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("anthropic", "openai", "gemini", "bedrock",
                                                   "github", "generic"));
}

TEST(Provider, WhoseNameIsUnknownIsToldWithTheKnownOnes) {
  const auto unknown = providerNamed("antropic");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().sentence(), HasSubstr("\"anthropic\""));
}

const SecretKind& kindAt(const Provider& provider, const char* secret) {
  return *kindOf(provider.kinds, secret);
}

TEST(SecretKind, IsToldByHowTheSecretBegins) {
  const Provider anthropic = *providerNamed("anthropic");
  EXPECT_EQ(kindAt(anthropic, "sk-ant-api03-x").credential.kind, Carried::Header);
  EXPECT_EQ(kindAt(anthropic, "sk-ant-api03-x").credential.name, "x-api-key");
  EXPECT_EQ(kindAt(anthropic, "a-gateway's").credential.name, "x-api-key");
  const SecretKind& oauth = kindAt(anthropic, "sk-ant-oat01-x");
  EXPECT_EQ(oauth.credential.kind, Carried::Bearer);
  EXPECT_THAT(oauth.credential.extra,
              testing::ElementsAre(http::FixedHeader{"anthropic-beta", "oauth-2025-04-20", true}));
  EXPECT_NE(kindAt(anthropic, "sk-ant-admin01-x").refused, "");
  const Provider bedrock = *providerNamed("bedrock");
  EXPECT_EQ(kindAt(bedrock, "ABSKQmVkcm9j").credential.kind, Carried::Bearer);
  EXPECT_EQ(kindAt(bedrock, "{\"access_key_id\":").credential.service, "bedrock");
  const Provider github = *providerNamed("github");
  EXPECT_EQ(kindAt(github, "github_pat_x").credential.kind, Carried::Basic);
  EXPECT_EQ(kindAt(github, "github_pat_x").credential.user, "x-access-token");
  EXPECT_EQ(kindOf(github.hosts.at(0).kinds, "github_pat_x")->credential.kind, Carried::Bearer);
  EXPECT_EQ(kindAt(*providerNamed("openai"), "sk-proj-x").credential.kind, Carried::Bearer);
  EXPECT_EQ(kindAt(*providerNamed("gemini"), "AIzaSyx").credential.name, "x-goog-api-key");
  EXPECT_EQ(kindOf({}, "anything"), nullptr);
}

TEST(Provider, DataThatIsWrongIsRefusedWithEveryFault) {
  const std::string fine =
      "version: 1\nname: x\ncarriers: {headers: [authorization]}\nerror_form: plain\n"
      "placeholder: {random: 12, alphabet: hex}\n"
      "kinds:\n  - {name: k, inject: {kind: bearer}}\n"
      "routes:\n  - {method: GET, path: /a}\n";
  ASSERT_TRUE(readProvider("x.yaml", fine)) << readProvider("x.yaml", fine).error().sentence();
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string text = fine;
    text.replace(text.find(old), old.size(), now);
    const auto read = readProvider("x.yaml", text);
    return read ? std::string("fine") : read.error().sentence();
  };
  EXPECT_THAT(with("name: x", "name: x\nunknown: 1"), HasSubstr("unknown"));
  EXPECT_THAT(with("random: 12", "random: 11"), HasSubstr("random"));
  EXPECT_THAT(with("random: 12", "random: 513"), HasSubstr("random"));
  EXPECT_EQ(with("random: 12", "random: 512"), "fine");
  EXPECT_THAT(with("hex", "octal"), HasSubstr("octal"));
  EXPECT_THAT(with("error_form: plain", "error_form: html"), HasSubstr("html"));
  EXPECT_THAT(with("bearer", "carrier"), HasSubstr("carrier"));
  EXPECT_THAT(with("{kind: bearer}", "{kind: header, name: host}"), HasSubstr("frame"));
  EXPECT_THAT(with(", inject: {kind: bearer}", ""), HasSubstr("inject or refused"));
  EXPECT_THAT(with("[authorization]", "[Authorization]"), HasSubstr("lower case"));
  EXPECT_THAT(with("path: /a", "path: a"), HasSubstr("does not begin with /"));
  EXPECT_THAT(with("path: /a", "path: /**/a"), HasSubstr("more than one *"));
  EXPECT_THAT(with("path: /a", "path: /a, dialect: klingon"), HasSubstr("klingon"));
  EXPECT_THAT(with("path: /a}", "path: /a}\ndenied: [{host: \"*.*.x\", path: /a}]"),
              HasSubstr("more than one *"));
  EXPECT_THAT(with("path: /a}", "path: /a}\nprices: [{models: [m], rates: {input: 1}}]"),
              HasSubstr("output"));
  EXPECT_THAT(
      with("path: /a}", "path: /a}\nprices: [{models: [m], rates: {input: -1, output: 1}}]"),
      HasSubstr("no price"));
}

double cost(const char* provider, const char* model, Usage usage) {
  return costOf(*providerNamed(provider), model, usage).value_or(-1);
}

TEST(Prices, AreCountedByFamilyAndKindOfToken) {
  const Usage million{1'000'000, 1'000'000, 1'000'000, 1'000'000, 0};
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-opus-4-5-20251101", million), 5 + 25 + 0.5 + 6.25);
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-opus-5-5", million), 4 + 20 + 0.2 + 5);
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-opus-5", million), 5 + 25 + 0.5 + 6.25);
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-opus-4-20250514", million), 15 + 75 + 1.5 + 18.75);
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-sonnet-4-5", million), 3 + 15 + 0.3 + 3.75);
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-haiku-4-5", million), 1 + 5 + 0.1 + 1.25);
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-opus-4-5", Usage{0, 0, 0, 1'000'000, 400'000}),
                   0.6 * 6.25 + 0.4 * 10);
  EXPECT_EQ(cost("anthropic", "claude-unheard-of-9", million), -1);
  EXPECT_EQ(cost("anthropic", "", million), -1);
  EXPECT_EQ(cost("openai", "gpt-5-unheard-of", million), -1);
}

TEST(Prices, WithoutARateOfTheirOwnForTheCacheCountAsInput) {
  EXPECT_DOUBLE_EQ(cost("openai", "gpt-5-2025-08-07", Usage{1'000'000, 0, 1'000'000, 1'000'000, 0}),
                   1.25 + 0.125 + 1.25);
  EXPECT_DOUBLE_EQ(cost("openai", "gpt-5-pro", Usage{0, 0, 1'000'000, 0, 0}), 15);
}

TEST(Prices, OfLongPromptsBeginAboveTheirMark) {
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-haiku-5-5", Usage{60'000, 0, 40'000, 0, 0}),
                   (60'000 * 0.1 + 40'000 * 0.01) / 1e6);
  EXPECT_DOUBLE_EQ(cost("anthropic", "claude-haiku-5-5", Usage{60'001, 0, 40'000, 0, 0}),
                   (60'001 * 0.5 + 40'000 * 0.05) / 1e6);
  EXPECT_DOUBLE_EQ(cost("gemini", "gemini-2.5-pro", Usage{200'000, 0, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(cost("gemini", "gemini-2.5-pro", Usage{200'001, 0, 0, 0, 0}),
                   200'001 * 2.5 / 1e6);
}

}  // namespace
}  // namespace warder::models
