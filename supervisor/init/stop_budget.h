// How the time between a request to stop and a kill from outside is divided. Pure.
#pragma once
#include <chrono>
#include <optional>

namespace warder::init {

/// Docker kills 10 s after `docker stop`, Kubernetes terminationGracePeriodSeconds (30 s) after its
/// SIGTERM. Of the time that is known, the report has its share before the agent's grace has:
/// without it the run would end with nothing told.
class StopBudget {
 public:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  /// Nobody kills us: every duty has the time that it asks for.
  StopBudget() = default;
  /// We are killed at `asked` + `within`.
  StopBudget(Clock::time_point asked, Milliseconds within);

  /// What the agent may take from its stop signal to SIGKILL, at most `grace`.
  Milliseconds forAgent(Milliseconds grace, Clock::time_point now) const;
  /// The same for what the agent left behind.
  Milliseconds forLeftovers(Milliseconds grace, Clock::time_point now) const;
  /// For the harvest, at most `limit`.
  Milliseconds forHarvest(Milliseconds limit, Clock::time_point now) const;
  /// For delivery, at most `limit`; what it does not do stays in the spool.
  Milliseconds forDelivery(Milliseconds limit, Clock::time_point now) const;

 private:
  Milliseconds share(Milliseconds wish, Milliseconds reserved, Clock::time_point now) const;

  std::optional<Clock::time_point> killed_at_;
  Milliseconds within_{0};
};

}  // namespace warder::init
