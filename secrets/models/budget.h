// What calls to models may use, counted over all calls that share it. Pure; no clock; one thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/models/provider.h"

namespace warder::models {

/// An absent limit does not limit.
struct BudgetLimits {
  std::optional<double> usd;
  std::optional<std::uint64_t> tokens;  // read, written and cached together
  std::optional<std::uint64_t> requests;
  std::optional<std::uint64_t> concurrency;  // calls in flight
  std::vector<unsigned> warn_at = {80, 95};  // percent of usd, tokens and requests
};

/// Which limit spoke. Unpriced and UsageUnknown: a limit that could not be held if the call went
/// on.
enum class BudgetCap { Usd, Tokens, Requests, Concurrency, Unpriced, UsageUnknown };

/// As events spell it: usd, tokens, requests, concurrency, unpriced, usage_unknown.
std::string_view nameOf(BudgetCap cap);

struct BudgetRefusal {
  BudgetCap cap = BudgetCap::Usd;
  std::string sentence;  // for the agent: what was reached, what was used, what to do
  /// The same call may start when another one ends; everything else stays refused.
  bool passing = false;
};

/// A share of a limit that was reached, told once.
struct BudgetMark {
  BudgetCap cap = BudgetCap::Usd;
  unsigned percent = 0;
  double used = 0;
  double limit = 0;
};

struct BudgetTotals {
  double usd = 0;
  std::uint64_t tokens = 0;
  std::uint64_t requests = 0;   // started, without those that only count tokens
  std::uint64_t countings = 0;  // those
  std::uint64_t in_flight = 0;
  std::uint64_t uncounted = 0;  // ended before the provider told what they used
};

/// A call that is to start.
struct BudgetQuestion {
  std::string_view model;      // for the sentence
  bool priced = false;         // the price table knows the model
  bool only_counting = false;  // a count_tokens call: free, and no request of the budget
};

class Budget;

/// One call in flight. Ends when it is finished or destroyed; a Budget outlives its calls.
class BudgetCall {
 public:
  BudgetCall() = default;
  BudgetCall(BudgetCall&& other) noexcept;
  BudgetCall& operator=(BudgetCall&& other) noexcept;
  ~BudgetCall();

  /// What this call has used so far, and its cost (nothing: not known). Totals, not additions: an
  /// answer that streams is told as often as one likes, and what is lower than before is ignored.
  /// Under a limit of dollars a call whose last word had no cost ends as one that is uncounted.
  void used(const Usage& usage, std::optional<double> cost);

  /// How the call ended: its usage was told in full; no more than a part of it, or nothing, was
  /// told of an answer that is paid for; or there was nothing to pay (an error, no answer).
  enum class Ending { Counted, Uncounted, Free };
  void finished(Ending ending);

 private:
  friend class Budget;
  BudgetCall(Budget* budget, bool only_counting);

  Budget* budget_ = nullptr;
  bool only_counting_ = false;
  std::uint64_t tokens_ = 0;
  double usd_ = 0;
  bool cost_known_ = true;
};

class Budget {
 public:
  explicit Budget(BudgetLimits limits);
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Nothing: it may. A limit refuses once it is reached, never before: what goes over it are the
  /// calls that were in flight then.
  std::optional<BudgetRefusal> mayStart(const BudgetQuestion& question) const;
  BudgetCall started(bool only_counting);

  /// More than the hard limit of dollars or tokens was used: streams are to be cut.
  bool over() const { return overCap().has_value(); }
  /// The sentence for what is cut; nothing when it is not over.
  std::optional<BudgetRefusal> overCap() const;
  /// Marks that were crossed since the last time, each once in the life of the budget.
  std::vector<BudgetMark> takeMarks();

  const BudgetTotals& totals() const { return totals_; }
  const BudgetLimits& limits() const { return limits_; }
  /// A limit that needs to know what a call used: requests must make the provider tell it.
  bool needsUsage() const { return limits_.usd || limits_.tokens; }

 private:
  friend class BudgetCall;
  struct Share {
    BudgetCap cap;
    double used;
    double limit;
  };

  std::vector<Share> shares() const;
  bool toldTooLittle() const;
  BudgetRefusal refusalOf(BudgetCap cap) const;

  BudgetLimits limits_;
  BudgetTotals totals_;
  std::uint64_t counted_ = 0;  // calls that ended with their usage told
  std::vector<std::pair<BudgetCap, unsigned>> told_marks_;
};

/// Calls that may end uncounted under a limit of dollars or tokens, beside a tenth of the counted.
inline constexpr std::uint64_t kMostUncounted = 20;

}  // namespace warder::models
