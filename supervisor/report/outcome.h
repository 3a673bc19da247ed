// How a run ended: exactly one of these, with what it rests on. docs/outcome.md lists all reasons.
#pragma once
#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace warder::report {

namespace json = boost::json;

enum class Class { Ok, Agent, Limit, Memory, Provider, Policy, Setup, Stopped, Internal };

/// Certain: a witness saw it. Likely: the best reading of what witnesses saw. Inferred: from what
/// is missing.
enum class Confidence { Certain, Likely, Inferred };

struct Evidence {
  std::string witness;  // agent, last_words, broker, kernel, supervisor
  std::string what;
  json::value value;
};

struct Outcome {
  Class cls = Class::Internal;
  std::string reason;
  std::string sentence;  // one sentence without a final stop
  std::string advice;    // what to do next; empty when there is nothing to do
  Confidence confidence = Confidence::Certain;
  bool retryable = false;  // the same job may end better
  std::vector<Evidence> evidence;
};

std::string_view nameOf(Class cls);
std::string_view nameOf(Confidence confidence);

/// The class, advice and retryability that belong to a reason. A reason that is not in the table
/// is a fault of ours and becomes internal/supervisor_error.
Outcome outcomeOf(std::string_view reason, std::string sentence,
                  Confidence confidence = Confidence::Certain);

/// {class, reason, sentence, advice, confidence, retryable, exit_code, evidence[]}.
json::object toJson(const Outcome& outcome);

/// The exit code of the box: the class's, and 64 more when the report was not acknowledged in time
/// and only the spool holds it.
int exitCode(const Outcome& outcome, bool delivered);

}  // namespace warder::report
