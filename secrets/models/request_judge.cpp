#include "secrets/models/request_judge.h"

#include <algorithm>

#include "secrets/http/json_tokens.h"
#include "secrets/models/request_places.h"

namespace warder::models {
namespace {

using http::JsonTokens;

constexpr std::size_t kMostNamed = 10;  // models in a sentence

BodyRefusal refusalOf(BodyFault fault, std::string sentence) {
  const bool unreadable = fault == BodyFault::NotJson || fault == BodyFault::DuplicateKey;
  return {fault, unreadable ? 400U : 403U,
          unreadable ? "invalid_request_error" : "permission_error", std::move(sentence)};
}

/// FNV-1a. That two keys of one object have the same is somebody's intent, and only refused.
std::uint64_t hashOf(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// A text of the agent's, in a sentence for it.
std::string quoted(std::string_view text) {
  return "\"" + plainName(text.substr(0, 64)) + "\"";
}

}  // namespace

std::string_view nameOf(BodyFault fault) {
  switch (fault) {
    case BodyFault::NotJson:
      return "not_json";
    case BodyFault::DuplicateKey:
      return "duplicate_key";
    case BodyFault::ModelNotAllowed:
      return "model_not_allowed";
    case BodyFault::ProviderFetch:
      return "provider_fetch";
    case BodyFault::UsageNotTold:
      return "usage_not_told";
  }
  return "not_json";
}

bool fitsPattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

class RequestJudge::State final : public JsonTokens::Sink {
 public:
  State(JudgeRules rules, CleanText clean)
      : rules_(std::move(rules)),
        clean_(std::move(clean)),
        tokens_(*this, JsonTokens::Utf8::Checked) {
    if (!rules_.path_model.empty()) judgeModel(rules_.path_model, true);
  }

  void feed(std::string_view bytes) {
    if (rules_.dialect == Dialect::None || refusal_) return;
    tokens_.feed(bytes);
    if (tokens_.failed()) refuseUnreadable();
  }

  bool finish() {
    if (refusal_ || rules_.dialect == Dialect::None) return !refusal_;
    if (!tokens_.finish()) refuseUnreadable();
    if (!refusal_ && !rules_.models.empty() && !model_named_)
      refuse(BodyFault::ModelNotAllowed,
             "the request names no model, and the policy of this run allows some models only");
    if (!refusal_) judgeUsage();
    return !refusal_;
  }

  const std::optional<BodyRefusal>& refusal() const { return refusal_; }
  const std::string& model() const { return model_; }
  bool streamed() const { return streamed_; }

 private:
  struct Level {
    Place place = Place::Inert;
    bool array = false;
    std::size_t first_key = 0;     // of its keys, in keys_
    std::uint64_t known_keys = 0;  // a bit for each that has a meaning
    bool searches = false;         // a web search, which may not leave the provider's own index
    bool stays_inside = false;
    bool shell = false;
    bool shell_is_hosted = false;
    bool is_local = false;  // where a shell runs
  };

  void onOpen(bool array) override {
    if (refusal_) return;
    if (levels_.empty() && array) return refuseShape();
    if (inert_depth_ == 0) {
      const Place place = levels_.empty() ? Place::Top : placeOfValue();
      judgeShape(place, array);
      if (refusal_) return;
      const bool has_no_inside = place == Place::Inert || (!array && isValue(place));
      if (!has_no_inside) return levels_.push_back({place, array, keys_.size()});
    }
    ++inert_depth_;
  }

  void onClose(bool) override {
    if (refusal_) return;
    if (inert_depth_ > 0) {
      --inert_depth_;
      return;
    }
    const Level closed = levels_.back();
    levels_.pop_back();
    keys_.resize(closed.first_key);
    if (closed.searches && !closed.stays_inside) refuseFetch("the tool \"web_search\"");
    if (closed.shell && closed.shell_is_hosted) refuseFetch("a shell that runs at the provider");
    if (closed.place == Place::ToolPlace && (closed.array || !closed.is_local))
      levels_.back().shell_is_hosted = true;
  }

  void onKey(std::string_view key, bool whole) override {
    if (refusal_ || inert_depth_ > 0) return;
    Level& level = levels_.back();
    const std::uint64_t hash = hashOf(key);
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(level.first_key);
    if (whole && std::find(first, keys_.end(), hash) != keys_.end()) return refuseDuplicate(key);
    if (keys_.size() - level.first_key >= kMostJudgedKeys)
      return refuse(BodyFault::NotJson, "an object of the request has more than " +
                                            std::to_string(kMostJudgedKeys) + " keys");
    keys_.push_back(hash);
    const Next next = follow(rules_.dialect, level.place, whole ? key : "");
    if (next.key >= 0) {
      const std::uint64_t bit = std::uint64_t{1} << next.key;
      if ((level.known_keys & bit) != 0) return refuseDuplicate(key);
      level.known_keys |= bit;
    }
    next_ = next.place;
    if (next_ == Place::Fetch) fetching_key_ = plainName(key.substr(0, 64));
  }

  void onText(std::string_view text, bool whole) override {
    if (refusal_ || inert_depth_ > 0) return;
    if (levels_.empty()) return refuseShape();
    const Place place = placeOfValue();
    if (place == Place::Model) {
      judgeModel(text, whole);
    } else if (place == Place::ToolType) {
      judgeTool(text);
    } else if (place == Place::SourceType) {
      if (!holdsItsContent(text)) refuseFetch("a source of the type " + quoted(text));
    } else if (place == Place::ToolPlaceType) {
      levels_.back().is_local = text == "local";
    } else if (place == Place::Url) {
      if (!needsNoFetching(text)) refuseFetch("a URL to read from");
    } else {
      plainValue(true);
    }
  }

  void onTextPart(std::string_view) override {}

  void onNumber(std::string_view, bool) override { plainValue(true); }

  void onWord(JsonTokens::Word word) override {
    if (refusal_ || inert_depth_ > 0) return;
    if (levels_.empty()) return refuseShape();
    const Place place = placeOfValue();
    if (place == Place::IncludeUsage) include_usage_ = word == JsonTokens::Word::True;
    if (place == Place::ToolReach) levels_.back().stays_inside = word == JsonTokens::Word::False;
    plainValue(word == JsonTokens::Word::True);
  }

  /// A value in a place where this kind of value is not expected, or says no more than that it is
  /// there. `means`: neither null nor false. Lax readers take "true" and 1 for true.
  void plainValue(bool means) {
    if (refusal_ || inert_depth_ > 0) return;
    if (levels_.empty()) return refuseShape();
    if (!means) return;
    const Place place = placeOfValue();
    if (place == Place::Stream && levels_.size() == 1) streamed_ = true;
    if (place == Place::Background) background_ = true;
    if (place == Place::Model) judgeModel("", false);
    if (place == Place::Fetch) refuseFetch(quoted(fetching_key_));
    if (place == Place::ToolPlace) levels_.back().shell_is_hosted = true;
    if (place == Place::Tool || place == Place::NamedTool) refuseFetch("a tool that is no object");
    if (isType(place)) refuseFetch("a type that is no text");
  }

  void judgeShape(Place place, bool array) {
    if (!array && place == Place::Fetch) refuseFetch(quoted(fetching_key_));
    if (!array && place == Place::Model) judgeModel("", false);
    if (isType(place)) refuseFetch("a type that is no text");
  }

  static bool isType(Place place) {
    return place == Place::ToolType || place == Place::SourceType || place == Place::ToolPlaceType;
  }

  /// Places that hold one value and no object.
  static bool isValue(Place place) {
    return place == Place::Fetch || place == Place::Model || isType(place);
  }

  Place placeOfValue() const { return levels_.back().array ? levels_.back().place : next_; }

  void judgeModel(std::string_view name, bool whole) {
    if (rules_.dialect == Dialect::Gemini && name.starts_with("models/")) name.remove_prefix(7);
    const bool allowed =
        rules_.models.empty() ||
        (whole && std::any_of(rules_.models.begin(), rules_.models.end(),
                              [&](const auto& pattern) { return fitsPattern(pattern, name); }));
    model_named_ = true;
    if (model_.empty()) {
      std::string clean(name);
      if (clean_) clean_(clean);
      model_ = plainName(clean);
    }
    if (allowed) return;
    std::string sentence =
        "the policy of this run does not allow the model " + quoted(name) + "; it allows: ";
    const std::size_t most = std::min<std::size_t>(rules_.models.size(), kMostNamed);
    for (std::size_t i = 0; i < most; ++i) sentence += (i == 0 ? "" : ", ") + rules_.models[i];
    if (most < rules_.models.size()) sentence += " and more";
    refuse(BodyFault::ModelNotAllowed, std::move(sentence));
  }

  void judgeTool(std::string_view type) {
    if (rules_.dialect == Dialect::OpenaiResponses && type == "web_search") {
      levels_.back().searches = true;
    } else if (rules_.dialect == Dialect::OpenaiResponses && type == "shell") {
      levels_.back().shell = true;
    } else if (!runsAtTheAgent(rules_.dialect, type)) {
      refuseFetch("the tool " + quoted(type));
    }
  }

  void judgeUsage() {
    if (!rules_.needs_usage) return;
    if (rules_.dialect == Dialect::OpenaiChat && streamed_ && !include_usage_)
      refuse(BodyFault::UsageNotTold,
             "this run has a budget, and a stream tells what it used only when it is asked to: "
             "set stream_options.include_usage to true");
    if (rules_.dialect == Dialect::OpenaiResponses && background_)
      refuse(BodyFault::UsageNotTold,
             "this run has a budget, and an answer in the background does not tell what it used: "
             "leave background out");
  }

  void refuse(BodyFault fault, std::string sentence) {
    if (clean_) clean_(sentence);
    if (!refusal_) refusal_ = refusalOf(fault, std::move(sentence));
  }

  void refuseUnreadable() {
    refuse(BodyFault::NotJson, "the body of the request is not the JSON that is expected here: " +
                                   std::string(tokens_.fault()) + " (at byte " +
                                   std::to_string(tokens_.offset()) + ")");
  }

  void refuseShape() { refuse(BodyFault::NotJson, "the body of the request is no JSON object"); }

  void refuseDuplicate(std::string_view key) {
    refuse(BodyFault::DuplicateKey,
           "the request holds the key " + quoted(key) +
               " twice in one object (also as another spelling of it), so it could be read in two "
               "ways; send each key once");
  }

  void refuseFetch(const std::string& what) {
    if (rules_.provider_fetch) return;
    refuse(BodyFault::ProviderFetch,
           "the request makes the provider fetch or run something on its own (" + what +
               "), and the policy of this run does not allow that; leave it out, and fetch what "
               "you need with your own tools");
  }

  JudgeRules rules_;
  CleanText clean_;
  JsonTokens tokens_;
  std::optional<BodyRefusal> refusal_;
  std::string model_;
  bool model_named_ = false;
  bool streamed_ = false;
  bool background_ = false;
  bool include_usage_ = false;

  std::vector<Level> levels_;  // without those below inert values
  std::size_t inert_depth_ = 0;
  std::vector<std::uint64_t> keys_;  // of all levels
  Place next_ = Place::Inert;        // of the value that follows the last key
  std::string fetching_key_;         // the last that leads to a Fetch, for the sentence
};

RequestJudge::RequestJudge(JudgeRules rules, CleanText clean)
    : state_(std::make_unique<State>(std::move(rules), std::move(clean))) {}
RequestJudge::~RequestJudge() = default;

void RequestJudge::feed(std::string_view bytes) {
  state_->feed(bytes);
}
bool RequestJudge::finish() {
  return state_->finish();
}
const std::optional<BodyRefusal>& RequestJudge::refusal() const {
  return state_->refusal();
}
const std::string& RequestJudge::model() const {
  return state_->model();
}
bool RequestJudge::streamed() const {
  return state_->streamed();
}

}  // namespace warder::models
