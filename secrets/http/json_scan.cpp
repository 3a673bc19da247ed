#include "secrets/http/json_scan.h"

#include <boost/json/basic_parser_impl.hpp>
#include <vector>

namespace warder::http {

namespace json = boost::json;
using boost::system::error_code;

namespace {

constexpr std::size_t kMaxText = 1'024;
constexpr std::size_t kMaxPathDepth = 4;
constexpr std::size_t kMaxNesting = 256;

/// What Boost.JSON's event parser calls. Every callback returns true: go on.
class Handler {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit Handler(const JsonScan::OnValue* on_value) : on_value_(on_value) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return enter(false); }
  bool on_object_end(std::size_t, error_code&) { return leave(); }
  bool on_array_begin(error_code&) { return enter(true); }
  bool on_array_end(std::size_t, error_code&) { return leave(); }
  bool on_key_part(json::string_view part, std::size_t, error_code&) { return collect(key_, part); }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    collect(key_, part);
    if (levels_.size() <= kMaxPathDepth) levels_.back().key = key_;
    key_.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    return collect(text_, part);
  }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    collect(text_, part);
    tell(JsonValue{std::nullopt, text_});
    text_.clear();
    return true;
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t value, json::string_view, error_code&) {
    if (value >= 0) tell(JsonValue{static_cast<std::uint64_t>(value), {}});
    return true;
  }
  bool on_uint64(std::uint64_t value, json::string_view, error_code&) {
    tell(JsonValue{value, {}});
    return true;
  }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

 private:
  struct Level {
    std::string key;
    bool is_array = false;
  };

  bool enter(bool is_array) {
    levels_.push_back({{}, is_array});
    return true;
  }
  bool leave() {
    levels_.pop_back();
    return true;
  }
  static bool collect(std::string& into, json::string_view part) {
    into.append(part.data(), std::min(part.size(), kMaxText - into.size()));
    return true;
  }
  void tell(const JsonValue& value) {
    if (levels_.empty() || levels_.size() > kMaxPathDepth) return;
    std::string path;
    for (const Level& level : levels_) {
      if (level.is_array) return;
      path += (path.empty() ? "" : ".") + level.key;
    }
    (*on_value_)(path, value);
  }

  const JsonScan::OnValue* on_value_;
  std::vector<Level> levels_;
  std::string key_;
  std::string text_;
};

json::parse_options optionsOf() {
  json::parse_options options;
  options.max_depth = kMaxNesting;
  options.allow_invalid_utf8 = true;  // we look, we do not judge
  return options;
}

}  // namespace

struct JsonScan::State {
  explicit State(OnValue callback)
      : on_value(std::move(callback)),
        parser(std::make_unique<json::basic_parser<Handler>>(optionsOf(), &on_value)) {}

  OnValue on_value;
  std::unique_ptr<json::basic_parser<Handler>> parser;
  bool over = false;
};

JsonScan::JsonScan(OnValue on_value) : state_(std::make_unique<State>(std::move(on_value))) {}
JsonScan::~JsonScan() = default;

void JsonScan::feed(std::string_view bytes) {
  if (state_->over || bytes.empty()) return;
  error_code failure;
  state_->parser->write_some(true, bytes.data(), bytes.size(), failure);
  state_->over = failure.failed() || state_->parser->done();
}

void JsonScan::restart() {
  state_->parser = std::make_unique<json::basic_parser<Handler>>(optionsOf(), &state_->on_value);
  state_->over = false;
}

}  // namespace warder::http
