// Judges the body of a call to a model while it streams by, in constant memory: which model,
// whether the provider is asked to fetch something for the agent, and whether the body can be read
// in one way only. Where a word stands in the document decides, never the word: text that mentions
// a tool or a URL is text.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/models/dialect.h"
#include "secrets/models/usage_meter.h"

namespace warder::models {

struct JudgeRules {
  Dialect dialect = Dialect::None;  // None: nothing is judged
  std::vector<std::string> models;  // allowed; * stands for any characters; empty: any model
  std::string path_model;           // decoded, where the path names the model
  bool provider_fetch = false;      // the provider may fetch and run tools of its own
  bool needs_usage = false;         // a budget needs the answer to tell its usage
};

enum class BodyFault { NotJson, DuplicateKey, ModelNotAllowed, ProviderFetch, UsageNotTold };

/// As events spell it: not_json, duplicate_key, model_not_allowed, provider_fetch, usage_not_told.
std::string_view nameOf(BodyFault fault);

struct BodyRefusal {
  BodyFault fault = BodyFault::NotJson;
  unsigned status = 400;                             // 400 for what cannot be read, else 403
  std::string error_type = "invalid_request_error";  // or permission_error; Anthropic's names
  std::string sentence;                              // for the agent: what, and what to do
};

/// Keys of one object that is looked at.
inline constexpr std::size_t kMostJudgedKeys = 256;

class RequestJudge {
 public:
  explicit RequestJudge(JudgeRules rules, CleanText clean = {});
  RequestJudge(const RequestJudge&) = delete;
  RequestJudge& operator=(const RequestJudge&) = delete;
  ~RequestJudge();

  /// The next bytes of the body, without its framing. After a refusal they are ignored.
  void feed(std::string_view bytes);
  /// The body is complete. Only if this is true may its last bytes be sent.
  bool finish();

  /// There as soon as something is found, before the body is complete.
  const std::optional<BodyRefusal>& refusal() const;
  /// What the body names, or else the path; made plain. Empty when there is none.
  const std::string& model() const;
  /// The body asks for a stream (Gemini and Bedrock ask for it in the path).
  bool streamed() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Whether a text fits a pattern in which * stands for any characters, also for none.
bool fitsPattern(std::string_view pattern, std::string_view text);

}  // namespace warder::models
