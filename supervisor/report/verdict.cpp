#include "supervisor/report/verdict.h"

#include <algorithm>
#include <array>

#include "supervisor/journal/clean_text.h"

namespace warder::report {

namespace {

constexpr std::size_t kMaxQuoted = 500;  // bytes of the agent's text in evidence

constexpr std::array kCrashSignals = {"SIGSEGV", "SIGABRT", "SIGBUS",  "SIGILL",  "SIGFPE",
                                      "SIGTRAP", "SIGQUIT", "SIGPIPE", "SIGXCPU", "SIGXFSZ"};

std::string processes(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " process" : " processes");
}

Outcome ofSetup(const Witnesses& seen) {
  const std::string step = textOf(seen.setup_failed, "step");
  const bool missing = numberOf(seen.setup_failed, "errno") == 2;  // ENOENT
  const char* reason = step == "job"                         ? "bad_spec"
                       : step == "broker"                    ? "broker_failed"
                       : step == "box" || step == "baseline" ? "box_failed"
                       : step == "agent" && missing          ? "agent_not_found"
                       : step == "agent"                     ? "agent_not_started"
                                                             : "setup_failed";
  return outcomeOf(reason, "the run was not started: " + textOf(seen.setup_failed, "sentence"));
}

Outcome ofCause(const Witnesses& seen) {
  const json::object& data = seen.cause_data;
  switch (seen.cause) {
    case Cause::SetupFailed:
      return ofSetup(seen);
    case Cause::Limit: {
      const auto value = numberOf(data, "value_ms");
      return outcomeOf("wall_time",
                       "the run reached its limit of wall time" +
                           (value > 0 ? " (" + std::to_string(value) + " ms)" : std::string()) +
                           " and was stopped");
    }
    case Cause::BrokerLost:
      return outcomeOf("broker_lost", "the broker ended, so the agent was stopped");
    case Cause::ScribeLost:
      return outcomeOf("scribe_lost", "the scribe ended, so the agent was stopped");
    case Cause::SpoolTrouble:
      return outcomeOf("spool_error", "the spool could not be written, so the agent was stopped");
    case Cause::Stop:
    case Cause::None:
      break;
  }
  const std::string signal = textOf(data, "signal");
  if (signal.empty()) return outcomeOf("cancelled", "the run was cancelled");
  return outcomeOf("stopped_by_signal", "the run was stopped: Warder received " + signal);
}

Outcome ofSignal(const Witnesses& seen, const std::string& signal) {
  if (signal == "SIGKILL" && seen.oom_kills > 0)
    return outcomeOf("oom_killed_agent", "the kernel killed the agent because memory ran out");
  if (signal == "SIGSYS")
    return outcomeOf("sandbox_violation",
                     "the agent was ended by SIGSYS: it made a system call that is not allowed",
                     Confidence::Likely);
  if (std::find(kCrashSignals.begin(), kCrashSignals.end(), signal) != kCrashSignals.end())
    return outcomeOf(
        "agent_crashed",
        "the agent crashed with " + signal +
            (signal == "SIGBUS" ? ", as programs do that share memory where /dev/shm is full"
                                : ""));
  return outcomeOf("killed_from_outside",
                   "the agent was killed with " + signal +
                       "; Warder did not do it, and the kernel counts no memory kill",
                   Confidence::Likely);
}

/// What the provider's answer says about the end of the run; nothing for a good answer.
std::optional<Outcome> ofStatus(std::int64_t status, Confidence confidence) {
  if (status < 400) return std::nullopt;
  const std::string answer = " (HTTP " + std::to_string(status) + ")";
  if (status == 401 || status == 403)
    return outcomeOf("llm_auth", "the LLM provider refused the credentials" + answer, confidence);
  if (status == 402)
    return outcomeOf("llm_quota", "the LLM provider asks for payment" + answer, confidence);
  if (status == 429)
    return outcomeOf("llm_rate_limited", "the LLM provider limited the rate" + answer, confidence);
  if (status == 408 || status >= 500)
    return outcomeOf("llm_overloaded", "the LLM provider could not answer" + answer, confidence);
  return outcomeOf("llm_refused_request", "the LLM provider refused the request" + answer,
                   confidence);
}

/// The last request failed and nothing came after it: that is why the agent failed.
std::optional<Outcome> ofLastCall(const Witnesses& seen, Confidence confidence) {
  const json::object& data = seen.last_call_data;
  switch (seen.last_call) {
    case LastCall::Denied:
      return outcomeOf("egress_denied_fatal",
                       "the agent failed after the policy denied " + textOf(data, "method") + " " +
                           textOf(data, "host") + textOf(data, "path") + " (" +
                           textOf(data, "reason") + ")",
                       Confidence::Likely);
    case LastCall::UpstreamFailed:
      return outcomeOf("llm_unreachable",
                       "the LLM provider could not be reached: " + textOf(data, "sentence"),
                       confidence);
    case LastCall::Answered:
      return ofStatus(seen.last_status, confidence);
    case LastCall::None:
      break;
  }
  if (seen.words && seen.words->api_error_status)
    return ofStatus(*seen.words->api_error_status, Confidence::Likely);
  return std::nullopt;
}

std::optional<Outcome> ofOwnLimit(const LastWords& words) {
  if (words.subtype == "error_max_turns" || words.terminal_reason == "max_turns")
    return outcomeOf("turns", "the agent reached its own limit of turns", Confidence::Likely);
  if (words.subtype == "error_max_budget_usd" || words.terminal_reason == "budget_exhausted")
    return outcomeOf("cost", "the agent reached its own budget", Confidence::Likely);
  return std::nullopt;
}

bool expectsWords(const Witnesses& seen) {
  const auto* agent = seen.start.if_contains("agent");
  if (agent && agent->is_object() &&
      textOf(agent->as_object(), "last_words") == "claude-stream-json")
    return true;
  const auto out = seen.streams.find("stdout");
  return out != seen.streams.end() && looksLikeStreamJson(out->second.last_line);
}

Outcome ofSuccess(const Witnesses& seen) {
  const bool nothing_made =
      !seen.patch.empty() && numberOf(seen.patch, "bytes") == 0 && seen.artifacts.empty();
  Outcome outcome = nothing_made
                        ? outcomeOf("completed_no_changes",
                                    "the agent finished and changed nothing in its work tree")
                        : outcomeOf("completed", "the agent finished its task");
  if (seen.words && seen.words->permission_denials > 0) {
    outcome.confidence = Confidence::Likely;
    outcome.advice = "The agent was denied tools by its own permission rules; check the result.";
  }
  if (seen.oom_kills > 0) {
    outcome.sentence +=
        "; the kernel killed " + processes(seen.oom_kills) + " for memory meanwhile";
    outcome.advice = "Give the box more memory: tools of the agent were killed.";
  }
  return outcome;
}

Outcome ofFailure(const Witnesses& seen, std::int64_t code) {
  const bool sure = code != 0 || (seen.words && seen.words->is_error);
  if (seen.words && seen.words->is_error)
    if (auto limit = ofOwnLimit(*seen.words)) return *limit;
  if (auto call = ofLastCall(seen, sure ? Confidence::Certain : Confidence::Likely)) return *call;
  if (seen.oom_kills > 0)
    return outcomeOf("oom_killed_tool",
                     "the agent failed after the kernel killed " + processes(seen.oom_kills) +
                         " of its own for memory",
                     Confidence::Likely);
  if (seen.words && seen.words->is_error)
    return outcomeOf("agent_reported_failure", "the agent says that it failed");
  if (code != 0)
    return outcomeOf("agent_error", "the agent failed with exit code " + std::to_string(code));
  return outcomeOf("no_result", "the agent exited with code 0 but without its result line",
                   Confidence::Likely);
}

Outcome ofExit(const Witnesses& seen, std::int64_t code) {
  if (code == 137) return ofSignal(seen, "SIGKILL");
  if ((code == 143 || code == 130) && !seen.words)
    return ofSignal(seen, code == 143 ? "SIGTERM" : "SIGINT");
  const bool answered_badly = seen.last_call == LastCall::UpstreamFailed ||
                              (seen.last_call == LastCall::Answered && seen.last_status >= 400);
  const bool silent = !seen.words && (expectsWords(seen) || answered_badly);
  if (code != 0 || silent || (seen.words && seen.words->is_error)) return ofFailure(seen, code);
  return ofSuccess(seen);
}

Outcome verdict(const Witnesses& seen) {
  if (seen.init_lost)
    return outcomeOf("supervisor_lost",
                     seen.start.empty() ? "the supervisor was lost before the run started"
                     : seen.end         ? "the supervisor was lost after the agent ended"
                                        : "the supervisor was lost: the run started, and never "
                                          "ended",
                     Confidence::Inferred);
  if (seen.scribe_lost)
    return outcomeOf("scribe_lost",
                     seen.end ? "the scribe was lost after the agent ended"
                              : "the scribe was lost, so the agent was stopped; its end is not in "
                                "the journal");
  if (seen.cause != Cause::None) return ofCause(seen);
  if (!seen.end) return outcomeOf("supervisor_error", "the run ended without a cause");
  if (!seen.end->signal.empty()) return ofSignal(seen, seen.end->signal);
  return ofExit(seen, seen.end->code.value_or(0));
}

/// Text of the agent's or of a peer's, bounded.
json::value text(std::string_view words) {
  return json::value(json::string(journal::cutUtf8(words, kMaxQuoted)));
}

void addBrokerEvidence(const Witnesses& seen, std::vector<Evidence>& evidence) {
  if (seen.last_call == LastCall::Answered)
    evidence.push_back({"broker", "status of the last call", seen.last_status});
  if (seen.last_call == LastCall::UpstreamFailed)
    evidence.push_back(
        {"broker", "the last call failed", text(textOf(seen.last_call_data, "sentence"))});
  if (seen.last_call == LastCall::Denied)
    evidence.push_back(
        {"broker", "the last request was denied", text(textOf(seen.last_call_data, "reason"))});
}

void addWordsEvidence(const Witnesses& seen, std::vector<Evidence>& evidence) {
  if (seen.words) {
    evidence.push_back({"last_words", "is_error", seen.words->is_error});
    if (seen.words->is_error)
      evidence.push_back({"last_words", "result", text(seen.words->result)});
  } else if (const auto out = seen.streams.find("stdout");
             out != seen.streams.end() && expectsWords(seen)) {
    evidence.push_back({"last_words", "no_result",
                        out->second.last_line_complete ? "the last line is no result"
                                                       : "the last line is truncated"});
  }
}

std::vector<Evidence> evidenceOf(const Witnesses& seen) {
  std::vector<Evidence> evidence;
  if (seen.cause != Cause::None) evidence.push_back({"supervisor", "first cause", seen.cause_data});
  if (!seen.end) evidence.push_back({"supervisor", "end of the agent", "not seen"});
  if (seen.end && seen.end->code)
    evidence.push_back({"kernel", "exit code of the agent", *seen.end->code});
  if (seen.end && !seen.end->signal.empty())
    evidence.push_back({"kernel", "signal that ended the agent", text(seen.end->signal)});
  if (seen.end || seen.oom_kills > 0)
    evidence.push_back({"kernel", "processes killed for memory", seen.oom_kills});
  addWordsEvidence(seen, evidence);
  addBrokerEvidence(seen, evidence);
  if (const auto errors = seen.streams.find("stderr");
      errors != seen.streams.end() && !errors->second.last_line.empty())
    evidence.push_back({"agent", "last line of stderr", text(errors->second.last_line)});
  return evidence;
}

}  // namespace

Outcome decide(const Witnesses& seen) {
  Outcome outcome = verdict(seen);
  outcome.evidence = evidenceOf(seen);
  return outcome;
}

}  // namespace warder::report
