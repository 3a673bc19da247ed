#include "secrets/models/budget.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace warder::models {
namespace {

/// Sums stop at the end of their range: they never start again from 0.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

std::string dollars(double usd) {
  char text[64];
  const int decimals = usd > 0 && usd < 1 ? 4 : 2;
  std::snprintf(text, sizeof text, "$%.*f", decimals, usd);
  return text;
}

std::string tokensOf(std::uint64_t count) {
  return std::to_string(count) + " tokens";
}

constexpr std::string_view kWhatToDo =
    ". Calls to models are refused for the rest of this run; whoever started it can raise the "
    "limit";

/// An answer's cost is a number that can be added up, or it is not known.
std::optional<double> believable(std::optional<double> cost) {
  if (cost && std::isfinite(*cost) && *cost >= 0) return cost;
  return std::nullopt;
}

}  // namespace

std::string_view nameOf(BudgetCap cap) {
  switch (cap) {
    case BudgetCap::Usd:
      return "usd";
    case BudgetCap::Tokens:
      return "tokens";
    case BudgetCap::Requests:
      return "requests";
    case BudgetCap::Concurrency:
      return "concurrency";
    case BudgetCap::Unpriced:
      return "unpriced";
    case BudgetCap::UsageUnknown:
      return "usage_unknown";
  }
  return "usd";
}

BudgetCall::BudgetCall(Budget* budget, bool only_counting)
    : budget_(budget), only_counting_(only_counting) {}

BudgetCall::BudgetCall(BudgetCall&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)),
      only_counting_(other.only_counting_),
      tokens_(other.tokens_),
      usd_(other.usd_),
      cost_known_(other.cost_known_) {}

BudgetCall& BudgetCall::operator=(BudgetCall&& other) noexcept {
  if (this == &other) return *this;
  finished(Ending::Uncounted);
  budget_ = std::exchange(other.budget_, nullptr);
  only_counting_ = other.only_counting_;
  tokens_ = other.tokens_;
  usd_ = other.usd_;
  cost_known_ = other.cost_known_;
  return *this;
}

/// Nobody said how it ended, so nobody knows what it used.
BudgetCall::~BudgetCall() {
  finished(Ending::Uncounted);
}

void BudgetCall::used(const Usage& usage, std::optional<double> cost) {
  if (budget_ == nullptr || only_counting_) return;
  const std::uint64_t tokens =
      sum(sum(usage.input, usage.output), sum(usage.cache_read, usage.cache_write));
  if (tokens > tokens_) {
    budget_->totals_.tokens = sum(budget_->totals_.tokens, tokens - tokens_);
    tokens_ = tokens;
  }
  cost_known_ = tokens == 0 || believable(cost).has_value();
  const double usd = believable(cost).value_or(0);
  if (usd > usd_) {
    budget_->totals_.usd += usd - usd_;
    usd_ = usd;
  }
}

void BudgetCall::finished(Ending ending) {
  Budget* budget = std::exchange(budget_, nullptr);
  if (budget == nullptr) return;
  --budget->totals_.in_flight;
  if (only_counting_) return;
  if (budget->limits_.usd && !cost_known_) ending = Ending::Uncounted;
  if (ending == Ending::Counted) ++budget->counted_;
  if (ending == Ending::Uncounted) ++budget->totals_.uncounted;
}

Budget::Budget(BudgetLimits limits) : limits_(std::move(limits)) {}

bool Budget::toldTooLittle() const {
  return needsUsage() && totals_.uncounted >= kMostUncounted + counted_ / 10;
}

BudgetRefusal Budget::refusalOf(BudgetCap cap) const {
  switch (cap) {
    case BudgetCap::Usd:
      return {cap, "the budget of " + dollars(limits_.usd.value_or(0)) +
                       " is used up: calls cost " + dollars(totals_.usd) + " so far" +
                       std::string(kWhatToDo)};
    case BudgetCap::Tokens:
      return {cap, "the budget of " + tokensOf(limits_.tokens.value_or(0)) +
                       " is used up: calls used " + tokensOf(totals_.tokens) + " so far" +
                       std::string(kWhatToDo)};
    case BudgetCap::Requests:
      return {cap, "the budget of " + std::to_string(limits_.requests.value_or(0)) +
                       " requests is used up: " + std::to_string(totals_.requests) +
                       " were started" + std::string(kWhatToDo)};
    case BudgetCap::UsageUnknown:
      return {cap, std::to_string(totals_.uncounted) +
                       " calls ended before the provider told what they used, so the budget "
                       "cannot be held" +
                       std::string(kWhatToDo)};
    case BudgetCap::Concurrency:
      return {cap,
              "at most " + std::to_string(limits_.concurrency.value_or(0)) +
                  " calls to models may run at a time, and " + std::to_string(totals_.in_flight) +
                  " do; start this one when another has ended",
              true};
    case BudgetCap::Unpriced:
      break;
  }
  return {cap, ""};
}

std::optional<BudgetRefusal> Budget::mayStart(const BudgetQuestion& question) const {
  if (limits_.concurrency && totals_.in_flight >= *limits_.concurrency)
    return refusalOf(BudgetCap::Concurrency);
  if (question.only_counting) return std::nullopt;
  if (limits_.usd && !question.priced) {
    std::string model = question.model.empty() ? "a request without a model"
                                               : "the model " + std::string(question.model);
    return BudgetRefusal{BudgetCap::Unpriced,
                         model +
                             " has no price here, so it cannot be used under a budget in "
                             "dollars: ask for a model that has a price, or let the budget be "
                             "one of tokens"};
  }
  // Not "<": a limit that is no number refuses as well.
  if (limits_.usd && !(totals_.usd < *limits_.usd)) return refusalOf(BudgetCap::Usd);
  if (limits_.tokens && totals_.tokens >= *limits_.tokens) return refusalOf(BudgetCap::Tokens);
  if (limits_.requests && totals_.requests >= *limits_.requests)
    return refusalOf(BudgetCap::Requests);
  if (toldTooLittle()) return refusalOf(BudgetCap::UsageUnknown);
  return std::nullopt;
}

BudgetCall Budget::started(bool only_counting) {
  ++totals_.in_flight;
  std::uint64_t& count = only_counting ? totals_.countings : totals_.requests;
  ++count;
  return {this, only_counting};
}

std::optional<BudgetRefusal> Budget::overCap() const {
  if (limits_.usd && !(totals_.usd <= *limits_.usd)) return refusalOf(BudgetCap::Usd);
  if (limits_.tokens && totals_.tokens > *limits_.tokens) return refusalOf(BudgetCap::Tokens);
  return std::nullopt;
}

std::vector<Budget::Share> Budget::shares() const {
  std::vector<Share> all;
  if (limits_.usd) all.push_back({BudgetCap::Usd, totals_.usd, *limits_.usd});
  if (limits_.tokens)
    all.push_back({BudgetCap::Tokens, static_cast<double>(totals_.tokens),
                   static_cast<double>(*limits_.tokens)});
  if (limits_.requests)
    all.push_back({BudgetCap::Requests, static_cast<double>(totals_.requests),
                   static_cast<double>(*limits_.requests)});
  return all;
}

std::vector<BudgetMark> Budget::takeMarks() {
  std::vector<BudgetMark> marks;
  for (const Share& share : shares()) {
    for (const unsigned percent : limits_.warn_at) {
      const std::pair key(share.cap, percent);
      if (share.used * 100 < share.limit * percent) continue;
      if (std::find(told_marks_.begin(), told_marks_.end(), key) != told_marks_.end()) continue;
      told_marks_.push_back(key);
      marks.push_back({share.cap, percent, share.used, share.limit});
    }
  }
  return marks;
}

}  // namespace warder::models
