#include "supervisor/report/outcome.h"

#include <array>

namespace warder::report {

namespace {

struct Reason {
  std::string_view name;
  Class cls;
  bool retryable;
  std::string_view advice;
};

constexpr auto kReasons = std::to_array<Reason>({
    {"completed", Class::Ok, false, ""},
    {"completed_no_changes", Class::Ok, false,
     "The work tree is as it was; look at the agent's answer in the output."},
    {"agent_error", Class::Agent, false, "Read the agent's last words and its output."},
    {"agent_reported_failure", Class::Agent, false, "Read the agent's last words and its output."},
    {"agent_crashed", Class::Agent, true,
     "The program itself failed; try again, or another version of the agent."},
    {"no_result", Class::Agent, true,
     "The agent left without its closing line; do not trust that the task was done."},
    {"wall_time", Class::Limit, false, "Raise limits.wall, or give the agent a smaller task."},
    {"turns", Class::Limit, false, "Raise the agent's own limit of turns, or split the task."},
    {"cost", Class::Limit, false, "Raise the agent's own budget, or split the task."},
    {"oom_killed_agent", Class::Memory, false,
     "Give the box more memory, or keep the agent's tools smaller."},
    {"oom_killed_tool", Class::Memory, false,
     "Give the box more memory, or keep the agent's tools smaller."},
    {"llm_auth", Class::Provider, false,
     "Check the secret of this grant: the provider does not accept it."},
    {"llm_quota", Class::Provider, false, "Check the account: the provider asks for payment."},
    {"llm_rate_limited", Class::Provider, true, "Wait, or ask the provider for a higher rate."},
    {"llm_overloaded", Class::Provider, true, "The provider was not able to answer; try again."},
    {"llm_unreachable", Class::Provider, true,
     "Check the network between this machine and the provider, and the grant's base_url."},
    {"llm_refused_request", Class::Provider, false,
     "The provider did not take the request; check model and version of the agent."},
    {"egress_denied_fatal", Class::Policy, false,
     "Add a rule for what the agent needs, or tell the agent to do without."},
    {"sandbox_violation", Class::Policy, false,
     "The agent used a system call that the box does not have."},
    {"bad_spec", Class::Setup, false, "Correct the job; `warder check` shows what is wrong."},
    {"broker_failed", Class::Setup, true, "See the sentence; `warder check` tries the same."},
    {"box_failed", Class::Setup, true, "See the sentence; this machine could not make the box."},
    {"agent_not_found", Class::Setup, false,
     "Install the agent where the box can see it, or name its folder in agent.read_only."},
    {"agent_not_started", Class::Setup, false, "See the sentence: a step of the start failed."},
    {"setup_failed", Class::Setup, true, "See the sentence: a step of the start failed."},
    {"stopped_by_signal", Class::Stopped, true, "Run it again when it may take its time."},
    {"cancelled", Class::Stopped, true, "Run it again when it is wanted."},
    {"killed_from_outside", Class::Stopped, true,
     "Neither Warder nor the kernel's memory guard did it: look for who sends signals."},
    {"supervisor_lost", Class::Internal, true,
     "The supervisor ended before the run did; what is stored is what was known by then."},
    {"broker_lost", Class::Internal, true, "The broker ended; see the log, and try again."},
    {"scribe_lost", Class::Internal, true, "The scribe ended; see the log, and try again."},
    {"spool_error", Class::Internal, true, "Make room for the spool, or mend its disk."},
    {"supervisor_error", Class::Internal, true, "This is a fault of Warder; please report it."},
});

}  // namespace

std::string_view nameOf(Class cls) {
  switch (cls) {
    case Class::Ok:
      return "ok";
    case Class::Agent:
      return "agent";
    case Class::Limit:
      return "limit";
    case Class::Memory:
      return "memory";
    case Class::Provider:
      return "provider";
    case Class::Policy:
      return "policy";
    case Class::Setup:
      return "setup";
    case Class::Stopped:
      return "stopped";
    case Class::Internal:
      return "internal";
  }
  return "internal";
}

std::string_view nameOf(Confidence confidence) {
  switch (confidence) {
    case Confidence::Certain:
      return "certain";
    case Confidence::Likely:
      return "likely";
    case Confidence::Inferred:
      return "inferred";
  }
  return "inferred";
}

Outcome outcomeOf(std::string_view reason, std::string sentence, Confidence confidence) {
  const Reason* known = &kReasons.back();
  for (const auto& candidate : kReasons)
    if (candidate.name == reason) known = &candidate;
  Outcome outcome;
  outcome.cls = known->cls;
  outcome.reason = known->name;
  outcome.sentence = std::move(sentence);
  outcome.advice = known->advice;
  outcome.confidence = confidence;
  outcome.retryable = known->retryable;
  return outcome;
}

json::object toJson(const Outcome& outcome) {
  json::array evidence;
  for (const auto& item : outcome.evidence)
    evidence.push_back({{"witness", item.witness}, {"what", item.what}, {"value", item.value}});
  return {{"class", nameOf(outcome.cls)},
          {"reason", outcome.reason},
          {"sentence", outcome.sentence},
          {"advice", outcome.advice},
          {"confidence", nameOf(outcome.confidence)},
          {"retryable", outcome.retryable},
          {"exit_code", exitCode(outcome, true)},
          {"evidence", std::move(evidence)}};
}

int exitCode(const Outcome& outcome, bool delivered) {
  constexpr int kUndelivered = 64;
  const int base = [&] {
    switch (outcome.cls) {
      case Class::Ok:
        return 0;
      case Class::Agent:
        return 1;
      case Class::Limit:
        return 10;
      case Class::Memory:
        return 11;
      case Class::Provider:
        return 12;
      case Class::Policy:
        return 13;
      case Class::Setup:
        return 14;
      case Class::Stopped:
        return 15;
      case Class::Internal:
        return 16;
    }
    return 16;
  }();
  return delivered ? base : base + kUndelivered;
}

}  // namespace warder::report
