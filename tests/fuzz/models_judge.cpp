// Bodies of requests for the judge. The first byte chooses dialect and pieces: what is found does
// not depend on the pieces, a model is never let by that the rules do not name, and whoever lets
// less pass refuses no less.
#include <cstdlib>

#include "secrets/models/request_judge.h"

using namespace warder::models;

namespace {

struct Verdict {
  std::string fault;
  std::string sentence;
  std::string model;
  bool streamed = false;
  bool operator==(const Verdict&) const = default;
};

Verdict judge(const JudgeRules& rules, std::string_view bytes, std::size_t piece) {
  RequestJudge judge(rules);
  for (std::size_t at = 0; at < bytes.size(); at += piece) judge.feed(bytes.substr(at, piece));
  if (judge.finish() == judge.refusal().has_value()) std::abort();
  Verdict verdict{"", "", judge.model(), judge.streamed()};
  if (judge.refusal()) {
    verdict.fault = nameOf(judge.refusal()->fault);
    verdict.sentence = judge.refusal()->sentence;
  }
  if (verdict.model.size() > 128 || verdict.sentence.size() > 1'024) std::abort();
  return verdict;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t piece = data[0] / 8U + 1U;
  JudgeRules rules;
  rules.dialect = static_cast<Dialect>(data[0] % 5 + 1);
  rules.provider_fetch = true;
  const Verdict lax = judge(rules, bytes, piece);
  if (lax != judge(rules, bytes, bytes.size() + 1)) std::abort();
  rules.provider_fetch = false;
  rules.needs_usage = true;
  rules.models = {"claude-*", "gpt"};
  const Verdict strict = judge(rules, bytes, piece);
  if (strict != judge(rules, bytes, bytes.size() + 1)) std::abort();
  if (!lax.fault.empty() && strict.fault.empty()) std::abort();
  if (strict.fault.empty() && !strict.model.starts_with("claude-") && strict.model != "gpt" &&
      strict.model != "models?")
    std::abort();
  return 0;
}
