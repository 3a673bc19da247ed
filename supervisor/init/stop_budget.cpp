#include "supervisor/init/stop_budget.h"

#include <algorithm>

namespace warder::init {

using std::chrono::duration_cast;

namespace {
// Percent of the known time that must be left when a duty ends, for those that come after it.
constexpr int kAfterAgent = 55;
constexpr int kAfterLeftovers = 40;
constexpr int kAfterHarvest = 25;
constexpr int kAfterDelivery = 10;
}  // namespace

StopBudget::StopBudget(Clock::time_point asked, Milliseconds within)
    : killed_at_(asked + within), within_(within) {}

StopBudget::Milliseconds StopBudget::share(Milliseconds wish, Milliseconds reserved,
                                           Clock::time_point now) const {
  if (!killed_at_) return wish;
  const auto left = duration_cast<Milliseconds>(*killed_at_ - now) - reserved;
  return std::clamp(left, Milliseconds(0), wish);
}

StopBudget::Milliseconds StopBudget::forAgent(Milliseconds grace, Clock::time_point now) const {
  return share(grace, within_ * kAfterAgent / 100, now);
}

StopBudget::Milliseconds StopBudget::forLeftovers(Milliseconds grace, Clock::time_point now) const {
  return share(grace, within_ * kAfterLeftovers / 100, now);
}

StopBudget::Milliseconds StopBudget::forHarvest(Milliseconds limit, Clock::time_point now) const {
  return share(limit, within_ * kAfterHarvest / 100, now);
}

StopBudget::Milliseconds StopBudget::forDelivery(Milliseconds limit, Clock::time_point now) const {
  return share(limit, within_ * kAfterDelivery / 100, now);
}

}  // namespace warder::init
