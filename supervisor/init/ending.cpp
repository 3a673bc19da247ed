// The second half of a run: stopping, leftovers, harvest, outcome, delivery. Part of supervisor.h.
#include <signal.h>
#include <sys/socket.h>

#include "supervisor/base/log.h"
#include "supervisor/init/box_processes.h"
#include "supervisor/init/supervisor.h"
#include "supervisor/init/tokens.h"
#include "supervisor/report/outcome.h"
#include "supervisor/watch/signals.h"

namespace warder::init {

using base::Durability;
namespace json = base::json;

void Supervisor::requestStop(const std::string& by, const json::object& details) {
  if (phase_ >= Phase::Stopping) return;
  json::object data = details;
  data["by"] = by;
  record({"stop.requested", std::move(data), Durability::Outcome});
  if (phase_ == Phase::Baseline && harvest_ > 0) ::kill(harvest_, SIGKILL);
  if (phase_ != Phase::Running) return endLeftovers();
  phase_ = Phase::Stopping;
  const pid_t target = job_.agent.stop_group ? -agent_ : agent_;
  ::kill(target, job_.agent.stop_signal);
  ::kill(target, SIGCONT);  // a stopped process acts on its signals only when it goes on
  const auto grace = budget_.forAgent(job_.limits.grace, std::chrono::steady_clock::now());
  after(grace, [this] { killAgent(); });
}

/// The agent alone: what it started has a grace of its own, in which files are written to their
/// end (BC-037).
void Supervisor::killAgent() {
  if (agent_ > 0) ::kill(agent_, SIGKILL);
}

void Supervisor::killRest() {
  // All at once where the kernel can: nothing forks its way out. Source: cgroup-v2.rst,
  // cgroup.kill.
  const std::size_t there = cgroup_kill_ ? descendants(ownStages()).size() : 0;
  if (cgroup_kill_ && base::writeAll(cgroup_kill_.get(), "1"))
    killed_ += there;
  else
    killed_ += killDescendants(ownStages());
}

/// A second request means: do not wait any longer for what can be cut short.
void Supervisor::stopAgain() {
  switch (phase_) {
    case Phase::Stopping:
    case Phase::Leftovers:
      return killRest();
    case Phase::Harvest:
      if (harvest_ > 0) ::kill(harvest_, SIGKILL);  // what was read by then is kept
      return;
    case Phase::Delivering:
      return finish(false);  // the spool keeps it
    default:
      return;
  }
}

void Supervisor::agentEnded(const watch::Ended& ended) {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  agent_ = -1;
  wall_.cancel();
  json::object data = {
      {"max_rss_bytes", ended.max_rss_bytes},
      {"cpu_ms", ended.cpu.count()},
      {"wall_ms", duration_cast<milliseconds>(steady_clock::now() - agent_started_).count()}};
  if (ended.signaled)
    data["signal"] = watch::signalName(ended.code);
  else
    data["code"] = ended.code;
  if (memory_) memory_->finish();
  if (start_) start_->stop();
  if (disk_) disk_->look();
  disk_.reset();
  record({"agent.exited", std::move(data), Durability::Outcome});
  endLeftovers();
}

/// What the agent left running gets SIGTERM, a grace of its own, then SIGKILL.
void Supervisor::endLeftovers() {
  phase_ = Phase::Leftovers;
  revokeSecrets();          // what the agent leaves running has nothing more to spend
  pending_broker_.reset();  // its control socket closes, and it ends
  if (pending_network_) pending_network_->control.reset();  // likewise, where nobody asked for it
  terminated_ += signalDescendants(SIGTERM, ownStages());
  const auto grace = budget_.forLeftovers(job_.limits.grace, std::chrono::steady_clock::now());
  after(grace, [this] {
    killRest();
    leftoversStep();
  });
  leftoversStep();
}

void Supervisor::leftoversStep() {
  if (phase_ != Phase::Leftovers || !descendants(ownStages()).empty()) return;
  // Nobody was seen; nobody is there only if nobody is seen while nobody can move.
  if (const auto hidden = killDescendants(ownStages()); hidden > 0) {
    killed_ += hidden;
    return after(kLookAgain, [this] { leftoversStep(); });
  }
  step_.cancel();
  if (terminated_ + killed_ > 0)
    record({"agent.leftovers", {{"terminated", terminated_}, {"killed", killed_}}});
  // The grant ends with the agent; what the broker still has to say is heard until it closes.
  if (broker_.link) broker_.link->finishSending();
  phase_ = Phase::Harvest;
  // Nobody writes any more; the scribe takes what the pipes still hold and says outputs_closed.
  if (!scribe_.link) return outputsClosed();
  scribe_.link->send({{"close_output", true}});
  giveUpAfter(kClosingLimit, "take the rest of the agent's output");
}

/// A scribe that does not do its part in time must not keep the run from its end.
void Supervisor::giveUpAfter(std::chrono::milliseconds limit, const std::string& duty) {
  after(limit, [this, duty] {
    base::log(base::Level::Error, "the scribe did not " + duty + " in time");
    finish(false);
  });
}

/// Nothing of the agent runs any more: its program is what it will be.
void Supervisor::outputsClosed() {
  if (!program_) return startHarvest();
  const auto limit = budget_.forHarvest(kProgramLimit, std::chrono::steady_clock::now());
  program_->finish([this] { startHarvest(); }, limit);
}

void Supervisor::startHarvest() {
  const bool wanted = job_.results.patch || !job_.results.artifacts.empty();
  if (!wanted || !scribe_.link || !box_made_ || spool_lost_) return close();
  auto stream = base::makePipe();
  if (!stream) return close();
  scribe_.link->send({{"harvest", true}, {"max_size", job_.results.max_size}},
                     {stream->read.get()});
  if (auto started = runHarvestStage("collect", stream->write.get()); !started) {
    base::log(base::Level::Error, started.error().sentence());
    record({"artifact.skipped", {{"path", "*"}, {"reason", started.error().sentence()}}});
    harvest_ = -1;
    giveUpAfter(kClosingLimit, "read the harvest");
    return;  // the stream closes with `stream`, and the scribe says `harvested`
  }
  after(budget_.forHarvest(kHarvestLimit, std::chrono::steady_clock::now()), [this] {
    if (harvest_ > 0) ::kill(harvest_, SIGKILL);
    giveUpAfter(kClosingLimit, "read the harvest");
  });
}

/// Called when the harvest stage ended and when the scribe has read its stream to the end.
void Supervisor::harvestEnded() {
  if (phase_ == Phase::Baseline) {
    step_.cancel();
    if (auto back = lendHarvestFolder(false); !back) return setupFailed("baseline", back.error());
    return startAgent();
  }
  if (phase_ == Phase::Harvest && harvested_ && harvest_ < 0) close();
}

void Supervisor::close() {
  phase_ = Phase::Closing;
  giveUpAfter(kClosingLimit, "store the outcome");
  if (!scribe_.link) return finish(false);
  record({"run.finished", {{"outcome", fold_.outcomeJson()}}, Durability::Outcome}, kFinishToken);
}

void Supervisor::deliver() {
  phase_ = Phase::Delivering;
  step_.cancel();
  if (job_.results.to.empty()) return finish(true);
  if (!courier_.link) return finish(false);
  const auto limit =
      budget_.forDelivery(job_.results.deliver_within, std::chrono::steady_clock::now());
  courier_.link->send({{"finishing", {{"deadline_ms", limit.count()}}}});
  // The courier keeps its own deadline; this one is for a courier that does not.
  const auto longest = job_.results.deliver_within + kCourierSlack;
  after(budget_.forDelivery(longest, std::chrono::steady_clock::now()), [this] { finish(false); });
}

void Supervisor::finish(bool delivered) {
  phase_ = Phase::Done;
  exit_code_ = report::exitCode(fold_.outcome(), delivered);
  if (spool_lost_ && !scribe_.link) exit_code_ = report::exitCode(fold_.outcome(), false);
  context_.stop();
}

}  // namespace warder::init
