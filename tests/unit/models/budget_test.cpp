#include "secrets/models/budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "secrets/models/dialect.h"

namespace warder::models {
namespace {

using Ending = BudgetCall::Ending;

constexpr BudgetQuestion kPriced{"claude-x", true, false};
constexpr BudgetQuestion kUnpriced{"mystery-1", false, false};
constexpr BudgetQuestion kCounting{"claude-x", false, true};

BudgetLimits limitsOf(std::optional<double> usd, std::optional<std::uint64_t> tokens,
                      std::optional<std::uint64_t> requests) {
  BudgetLimits limits;
  limits.usd = usd;
  limits.tokens = tokens;
  limits.requests = requests;
  return limits;
}

void spend(Budget& budget, std::uint64_t tokens, std::optional<double> cost) {
  BudgetCall call = budget.started(false);
  Usage usage;
  usage.output = tokens;
  call.used(usage, cost);
  call.finished(Ending::Counted);
}

TEST(Budget, WithoutLimitsRefusesNothing) {
  Budget budget({});
  for (int i = 0; i < 1'000; ++i) spend(budget, 1'000'000, std::nullopt);
  EXPECT_FALSE(budget.mayStart(kUnpriced));
  EXPECT_FALSE(budget.over());
  EXPECT_TRUE(budget.takeMarks().empty());
  EXPECT_FALSE(budget.needsUsage());
}

// BC-062: ten requests, then no more, whoever asks.
TEST(Budget, RefusesTheRequestAfterTheLastOne) {
  Budget budget(limitsOf({}, {}, 10));
  for (int i = 0; i < 10; ++i) {
    ASSERT_FALSE(budget.mayStart(kPriced)) << i;
    spend(budget, 1, 0.1);
  }
  const auto refusal = budget.mayStart(kPriced);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->cap, BudgetCap::Requests);
  EXPECT_FALSE(refusal->passing);
  EXPECT_NE(refusal->sentence.find("10 requests"), std::string::npos) << refusal->sentence;
  EXPECT_NE(refusal->sentence.find("can raise the limit"), std::string::npos);
  EXPECT_FALSE(budget.over());  // a call that was let in is never cut for being the last one
}

// BC-062: what goes over the cap is what was in flight when it was reached.
TEST(Budget, GoesOverByTheCallsInFlightOnly) {
  Budget budget(limitsOf({}, 50'000, {}));
  std::vector<BudgetCall> calls;
  for (int i = 0; i < 5; ++i) {
    ASSERT_FALSE(budget.mayStart(kPriced));  // nothing is set aside for those that run
    calls.push_back(budget.started(false));
  }
  Usage usage;
  usage.input = 9'999;
  usage.output = 1;
  for (auto& call : calls) {
    EXPECT_FALSE(budget.mayStart(kPriced));
    call.used(usage, {});
  }
  const auto refusal = budget.mayStart(kPriced);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->cap, BudgetCap::Tokens);
  EXPECT_NE(refusal->sentence.find("50000 tokens"), std::string::npos) << refusal->sentence;
  EXPECT_FALSE(budget.over());
  usage.output = 2;
  calls[0].used(usage, {});
  EXPECT_TRUE(budget.over());
  EXPECT_EQ(budget.overCap()->cap, BudgetCap::Tokens);
}

TEST(Budget, StartsTheLastCallOneTokenBelowTheLimit) {
  Budget budget(limitsOf({}, 1'000, {}));
  spend(budget, 999, {});
  EXPECT_FALSE(budget.mayStart(kPriced));
  spend(budget, 1, {});
  EXPECT_TRUE(budget.mayStart(kPriced));
}

TEST(Budget, CountsDollars) {
  Budget budget(limitsOf(2.0, {}, {}));
  spend(budget, 10, 1.5);
  EXPECT_FALSE(budget.mayStart(kPriced));
  spend(budget, 10, 0.5);
  const auto refusal = budget.mayStart(kPriced);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->cap, BudgetCap::Usd);
  EXPECT_NE(refusal->sentence.find("$2.00"), std::string::npos) << refusal->sentence;
  EXPECT_FALSE(budget.over());
  spend(budget, 10, 0.25);
  EXPECT_TRUE(budget.over());
}

TEST(Budget, ReplacesWhatACallToldBefore) {
  Budget budget(limitsOf(10.0, {}, {}));
  BudgetCall call = budget.started(false);
  for (const std::uint64_t output : {1u, 5u, 5u, 3u, 9u}) {
    Usage usage;
    usage.input = 10;
    usage.output = output;
    usage.cache_read = 100;
    usage.cache_write = 1'000;
    call.used(usage, static_cast<double>(output));
  }
  EXPECT_EQ(budget.totals().tokens, 1'119u);
  EXPECT_DOUBLE_EQ(budget.totals().usd, 9.0);
}

TEST(Budget, RefusesAModelWithoutAPriceUnderDollarsOnly) {
  Budget dollars(limitsOf(5.0, {}, {}));
  const auto refusal = dollars.mayStart(kUnpriced);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->cap, BudgetCap::Unpriced);
  EXPECT_NE(refusal->sentence.find("mystery-1"), std::string::npos);
  EXPECT_TRUE(dollars.mayStart({}));
  EXPECT_FALSE(dollars.mayStart(kPriced));
  Budget tokens(limitsOf({}, 5, {}));
  EXPECT_FALSE(tokens.mayStart(kUnpriced));
}

// BC-056: fifty countings in a second are no requests of the budget.
TEST(Budget, CountsCountTokensApart) {
  Budget budget(limitsOf(1.0, 100, 2));
  for (int i = 0; i < 50; ++i) {
    ASSERT_FALSE(budget.mayStart(kCounting));
    BudgetCall call = budget.started(true);
    Usage usage;
    usage.input = 1'000;
    call.used(usage, 5.0);
  }
  EXPECT_EQ(budget.totals().countings, 50u);
  EXPECT_EQ(budget.totals().requests, 0u);
  EXPECT_EQ(budget.totals().tokens, 0u);
  EXPECT_EQ(budget.totals().uncounted, 0u);
  EXPECT_EQ(budget.totals().in_flight, 0u);
  EXPECT_FALSE(budget.mayStart(kPriced));
  spend(budget, 100, 1.0);
  EXPECT_TRUE(budget.mayStart(kPriced));
  EXPECT_FALSE(budget.mayStart(kCounting));  // free, also afterwards
}

TEST(Budget, BoundsTheCallsInFlight) {
  BudgetLimits limits;
  limits.concurrency = 2;
  Budget budget(limits);
  BudgetCall first = budget.started(false);
  EXPECT_FALSE(budget.mayStart(kPriced));
  {
    BudgetCall second = budget.started(false);
    const auto refusal = budget.mayStart(kPriced);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->cap, BudgetCap::Concurrency);
    EXPECT_TRUE(refusal->passing);
    EXPECT_TRUE(budget.mayStart(kCounting));
  }
  EXPECT_FALSE(budget.mayStart(kPriced));
}

TEST(Budget, TellsEachMarkOnce) {
  Budget budget(limitsOf({}, 100, 1'000));
  spend(budget, 79, {});
  EXPECT_TRUE(budget.takeMarks().empty());
  spend(budget, 1, {});
  const auto first = budget.takeMarks();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].cap, BudgetCap::Tokens);
  EXPECT_EQ(first[0].percent, 80u);
  EXPECT_EQ(first[0].used, 80);
  EXPECT_EQ(first[0].limit, 100);
  spend(budget, 14, {});
  EXPECT_TRUE(budget.takeMarks().empty());
  spend(budget, 1'000, {});
  EXPECT_EQ(budget.takeMarks().size(), 1u);
  EXPECT_TRUE(budget.takeMarks().empty());
}

TEST(Budget, TellsTheMarksOfRequestsWhenTheyStart) {
  Budget budget(limitsOf({}, {}, 5));
  std::vector<BudgetCall> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(budget.started(false));
  const auto marks = budget.takeMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].cap, BudgetCap::Requests);
}

/// A client that leaves before the last event would otherwise never pay.
TEST(Budget, DoesNotGoOnWhenTooManyCallsHideWhatTheyUsed) {
  Budget budget(limitsOf({}, 1'000'000, {}));
  for (std::uint64_t i = 0; i < kMostUncounted; ++i) {
    ASSERT_FALSE(budget.mayStart(kPriced)) << i;
    budget.started(false).finished(Ending::Uncounted);
  }
  const auto refusal = budget.mayStart(kPriced);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->cap, BudgetCap::UsageUnknown);
  EXPECT_NE(refusal->sentence.find("20 calls"), std::string::npos);
}

TEST(Budget, BearsAFewUncountedCallsAmongMany) {
  Budget budget(limitsOf({}, 1'000'000, {}));
  for (int i = 0; i < 100; ++i) spend(budget, 1, {});
  for (std::uint64_t i = 0; i < kMostUncounted + 9; ++i)
    budget.started(false).finished(Ending::Uncounted);
  EXPECT_FALSE(budget.mayStart(kPriced));
  budget.started(false).finished(Ending::Uncounted);
  EXPECT_TRUE(budget.mayStart(kPriced));
}

TEST(Budget, CallsThatCostNothingAreNotUncounted) {
  Budget budget(limitsOf(1.0, {}, {}));
  for (int i = 0; i < 1'000; ++i) budget.started(false).finished(Ending::Free);
  EXPECT_FALSE(budget.mayStart(kPriced));
}

TEST(Budget, UncountedCallsDoNotMatterWhereUsageIsNotNeeded) {
  Budget budget(limitsOf({}, {}, 1'000));
  for (int i = 0; i < 100; ++i) budget.started(false);
  EXPECT_EQ(budget.totals().uncounted, 100u);
  EXPECT_FALSE(budget.mayStart(kPriced));
}

TEST(Budget, ACallWithoutACostIsUncountedUnderDollarsOnly) {
  Budget budget(limitsOf(1.0, {}, {}));
  spend(budget, 10, std::nullopt);
  spend(budget, 10, std::nan(""));
  spend(budget, 10, 0.0);
  EXPECT_EQ(budget.totals().uncounted, 2u);
  Budget tokens(limitsOf({}, 100, {}));
  spend(tokens, 10, std::nullopt);
  EXPECT_EQ(tokens.totals().uncounted, 0u);
}

TEST(Budget, AMovedCallEndsOnce) {
  Budget budget(limitsOf({}, 10, {}));
  {
    BudgetCall first = budget.started(false);
    BudgetCall second = std::move(first);
    BudgetCall third;
    third = std::move(second);
    EXPECT_EQ(budget.totals().in_flight, 1u);
    third.finished(Ending::Counted);
    third.finished(Ending::Uncounted);
  }
  EXPECT_EQ(budget.totals().in_flight, 0u);
  EXPECT_EQ(budget.totals().uncounted, 0u);
}

TEST(Budget, NumbersThatAreNoneNeverOpenIt) {
  Budget budget(limitsOf(std::numeric_limits<double>::quiet_NaN(), {}, {}));
  EXPECT_TRUE(budget.mayStart(kPriced));
  Budget sound(limitsOf(1.0, 10, {}));
  BudgetCall call = sound.started(false);
  Usage most;
  most.input = most.output = most.cache_read = std::numeric_limits<std::uint64_t>::max();
  call.used(most, std::nan(""));
  EXPECT_TRUE(sound.over());
  call.used(most, -1.0);
  EXPECT_TRUE(sound.mayStart(kPriced));
}

TEST(Dialect, HasANameForEach) {
  for (const auto dialect : {Dialect::None, Dialect::Anthropic, Dialect::OpenaiResponses,
                             Dialect::OpenaiChat, Dialect::Gemini, Dialect::Bedrock})
    EXPECT_EQ(dialectNamed(nameOf(dialect)), dialect);
  EXPECT_FALSE(dialectNamed("openai"));
}

}  // namespace
}  // namespace warder::models
