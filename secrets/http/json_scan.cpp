#include "secrets/http/json_scan.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "secrets/http/json_tokens.h"

namespace warder::http {
namespace {

constexpr std::size_t kMaxPathDepth = 5;
constexpr std::size_t kMaxPathKey = 128;

/// Not to be taken for a part of a path.
bool isPlain(std::string_view key) {
  return std::none_of(key.begin(), key.end(), [](char c) { return c == '.' || c == '['; });
}

}  // namespace

class JsonScan::State final : public JsonTokens::Sink {
 public:
  explicit State(OnValue on_value)
      : on_value_(std::move(on_value)), tokens_(*this, JsonTokens::Utf8::Any) {}

  void feed(std::string_view bytes) {
    if (!done_ && !tokens_.failed()) tokens_.feed(bytes);
  }
  bool done() const { return done_; }
  /// What follows a document does not unmake it.
  bool failed() const { return !done_ && tokens_.failed(); }

  void restart() {
    tokens_.restart();
    depth_ = 0;
    done_ = false;
    keyed_ = true;
    path_.clear();
  }

 private:
  struct Level {
    std::size_t path_size = 0;  // of what leads to it
    bool told = true;           // its values have a path
  };

  void onOpen(bool array) override {
    if (++depth_ > kMaxPathDepth) return;
    const bool told = depth_ == 1 || levels_[depth_ - 2].told;
    if (array) path_ += "[]";
    levels_[depth_ - 1] = {path_.size(), told && keyed_};
    keyed_ = true;
  }

  void onClose(bool array) override {
    done_ = depth_ == 1;
    if (depth_-- > kMaxPathDepth) return;
    path_.resize(levels_[depth_].path_size - (array ? 2 : 0));
  }

  void onKey(std::string_view key, bool whole) override {
    if (depth_ > kMaxPathDepth) return;
    path_.resize(levels_[depth_ - 1].path_size);
    keyed_ = whole && key.size() <= kMaxPathKey && isPlain(key);
    if (!keyed_) return;
    if (!path_.empty()) path_ += '.';
    path_ += key;
  }

  void onText(std::string_view text, bool) override { tell(JsonValue{std::nullopt, text}); }
  void onTextPart(std::string_view) override {}
  void onWord(JsonTokens::Word) override { passValue(); }

  void onNumber(std::string_view digits, bool whole) override {
    std::uint64_t number = 0;
    const char* end = digits.data() + digits.size();
    const auto [rest, failure] = std::from_chars(digits.data(), end, number);
    if (whole && failure == std::errc{} && rest == end) return tell(JsonValue{number, {}});
    passValue();
  }

  void passValue() {
    keyed_ = true;
    done_ = depth_ == 0;
  }

  void tell(const JsonValue& value) {
    const bool keyed = keyed_;
    passValue();
    if (depth_ == 0 || depth_ > kMaxPathDepth || !keyed || !levels_[depth_ - 1].told) return;
    on_value_(path_, value);
  }

  OnValue on_value_;
  std::string path_;
  std::array<Level, kMaxPathDepth> levels_;
  std::size_t depth_ = 0;
  bool done_ = false;
  bool keyed_ = true;  // the value that comes next has a path
  JsonTokens tokens_;
};

JsonScan::JsonScan(OnValue on_value) : state_(std::make_unique<State>(std::move(on_value))) {}
JsonScan::~JsonScan() = default;

void JsonScan::feed(std::string_view bytes) {
  state_->feed(bytes);
}

void JsonScan::restart() {
  state_->restart();
}

bool JsonScan::done() const {
  return state_->done();
}
bool JsonScan::failed() const {
  return state_->failed();
}

}  // namespace warder::http
