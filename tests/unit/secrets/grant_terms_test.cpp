#include "secrets/grant_terms.h"

#include <gtest/gtest.h>

#include <limits>

namespace warder::secrets {
namespace {

GrantTerms overTheWire(const GrantTerms& terms) {
  const auto text = base::json::serialize(toJson(terms));
  return termsFromJson(base::json::parse(text).as_object());
}

TEST(GrantTerms, nothing_said_is_nothing_narrowed_on_the_other_side_too) {
  const GrantTerms terms = overTheWire({});
  EXPECT_FALSE(terms.budget.usd || terms.budget.tokens || terms.budget.requests);
  EXPECT_FALSE(terms.budget.concurrency || terms.provider_fetch);
  EXPECT_EQ(terms.budget.warn_at, models::BudgetLimits{}.warn_at);
  EXPECT_TRUE(terms.models.empty() && terms.allow.empty());
  EXPECT_FALSE(terms.expires_after || terms.expires_at);
}

TEST(GrantTerms, everything_said_arrives_as_it_was_said) {
  GrantTerms terms;
  terms.budget.usd = 0.25;
  terms.budget.tokens = std::numeric_limits<std::uint64_t>::max();
  terms.budget.requests = 0;
  terms.budget.concurrency = 4;
  terms.budget.warn_at = {50};
  terms.models = {"claude-*", "gpt-5"};
  terms.provider_fetch = true;
  terms.allow = {{{"GET"}, {"/v1/models", "/v1/models/*"}}, {{}, {"/v1/messages"}}};
  terms.expires_after = std::chrono::hours(6);
  terms.expires_at = std::chrono::system_clock::time_point(std::chrono::seconds(1'900'000'000));
  const GrantTerms got = overTheWire(terms);
  EXPECT_EQ(got.budget.usd, 0.25);
  EXPECT_EQ(got.budget.tokens, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(got.budget.requests, 0U);
  EXPECT_EQ(got.budget.concurrency, 4U);
  EXPECT_EQ(got.budget.warn_at, std::vector<unsigned>{50});
  EXPECT_EQ(got.models, terms.models);
  EXPECT_TRUE(got.provider_fetch);
  ASSERT_EQ(got.allow.size(), 2U);
  EXPECT_EQ(got.allow[0].methods, terms.allow[0].methods);
  EXPECT_EQ(got.allow[0].paths, terms.allow[0].paths);
  EXPECT_TRUE(got.allow[1].methods.empty());
  EXPECT_EQ(got.expires_after, terms.expires_after);
  EXPECT_EQ(got.expires_at, terms.expires_at);
}

TEST(GrantTerms, allow_what_is_named_and_everything_where_nothing_is) {
  GrantTerms terms;
  EXPECT_TRUE(allows(terms, "DELETE", "/x"));
  terms.allow = {{{"GET"}, {"/v1/models/*"}}, {{}, {"/v1/messages", "/files/**"}}};
  EXPECT_TRUE(allows(terms, "GET", "/v1/models/one"));
  EXPECT_FALSE(allows(terms, "POST", "/v1/models/one"));
  EXPECT_FALSE(allows(terms, "GET", "/v1/models"));
  EXPECT_FALSE(allows(terms, "GET", "/v1/models/one/two"));
  EXPECT_TRUE(allows(terms, "POST", "/v1/messages"));
  EXPECT_FALSE(allows(terms, "POST", "/v1/messages/count_tokens"));
  EXPECT_TRUE(allows(terms, "PUT", "/files/a/b"));
}

TEST(GrantTerms, a_text_that_says_less_than_all_is_none) {
  base::json::object object = toJson(GrantTerms{});
  object.erase("budget");
  EXPECT_ANY_THROW(termsFromJson(object));
}

}  // namespace
}  // namespace warder::secrets
