#include "secrets/models/usage_meter.h"

#include <algorithm>
#include <optional>

#include "secrets/models/chunk_reader.h"
#include "secrets/models/event_lines.h"
#include "secrets/models/event_stream.h"
#include "secrets/models/usage_fields.h"

namespace warder::models {

std::string plainName(std::string_view text) {
  std::string name(text.substr(0, 128));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("._:/@[]-").find(c) != std::string_view::npos;
    if (!plain) c = '?';
  }
  return name;
}

namespace {

constexpr std::size_t kFirstBytes = 16;  // that are kept of a body which is no JSON

std::string cleanName(std::string_view text, const CleanText& clean) {
  std::string name(text);
  if (clean) clean(name);
  return plainName(name);
}

std::string hexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

enum class Form { Unknown, Json, Lines, Binary };

Form formOf(std::string_view content_type) {
  std::string lower(content_type.substr(0, content_type.find(';')));
  while (lower.ends_with(' ') || lower.ends_with('\t')) lower.pop_back();
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (lower == "text/event-stream") return Form::Lines;
  if (lower == "application/vnd.amazon.eventstream") return Form::Binary;
  return Form::Unknown;
}

/// Of a body that is announced as something else.
Form formByFirst(char c) {
  return std::string_view(":dei").find(c) != std::string_view::npos ? Form::Lines : Form::Json;
}

}  // namespace

ModelScan::ModelScan(CleanText clean)
    : clean_(std::move(clean)), scan_([this](std::string_view path, const http::JsonValue& value) {
        if (path == "model" && !value.number) model_ = cleanName(value.text, clean_);
      }) {}

void ModelScan::feed(std::string_view bytes) {
  if (model_.empty()) scan_.feed(bytes);
}

/// What an answer has said. Of a message whose checksum is wrong nothing stays.
struct Answer {
  UsageCounts counts;
  std::string model;
  std::string error;
  bool complete = false;  // its last event came
  bool final = false;     // its usage is that of the whole call
};

class AnswerMeter::State final : public EventLines::Sink, public EventStreamReader::Sink {
 public:
  State(Dialect dialect, Form form, CleanText clean)
      : dialect_(dialect),
        form_(form),
        clean_(std::move(clean)),
        scan_([this](std::string_view path, const http::JsonValue& value) { take(path, value); }),
        lines_(*this),
        messages_(*this),
        chunk_([this](std::string_view bytes) { scan_.feed(bytes); }) {}

  void feed(std::string_view bytes) {
    if (bytes.empty()) return;
    if (first_bytes_.size() < kFirstBytes)
      first_bytes_ += bytes.substr(0, kFirstBytes - first_bytes_.size());
    if (form_ == Form::Unknown) {
      bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
      if (bytes.empty()) return;
      form_ = formByFirst(bytes.front());
    }
    if (form_ == Form::Lines) return lines_.feed(bytes);
    if (form_ == Form::Json) return feedDocument(bytes);
    messages_.feed(bytes);
    if (messages_.failed()) {
      if (before_) answer_ = *before_;
      before_.reset();
      is_unreadable_ = true;
    }
  }

  Usage usage() const { return answer_.counts.usageIn(dialect_); }
  bool complete() const {
    if (form_ == Form::Json) return scan_.done();
    return answer_.complete && (form_ != Form::Binary || messages_.atBoundary());
  }
  bool usageTold() const {
    if (!answer_.counts.told()) return false;
    return answer_.final || complete();
  }
  const std::string& model() const { return answer_.model; }
  const std::string& error() const { return answer_.error; }
  std::string unreadable() const {
    if (!is_unreadable_) return "";
    const bool gzip = first_bytes_.starts_with("\x1f\x8b");
    const bool zstd = first_bytes_.starts_with("\x28\xb5\x2f\xfd");
    std::string shown = first_bytes_;
    if (clean_) clean_(shown);
    return (gzip ? "gzip " : zstd ? "zstd " : "other ") + hexOf(shown);
  }
  bool streamed() const { return form_ == Form::Lines || form_ == Form::Binary; }

 private:
  void feedDocument(std::string_view bytes) {
    scan_.feed(bytes);
    is_unreadable_ = scan_.failed();
  }

  // EventLines
  void onData(std::string_view piece) override {
    for (const char c : piece.substr(0, 2 * kDone.size())) {
      const bool leading = c == ' ' && data_start_.empty();
      if (!leading && data_start_.size() < kDone.size()) data_start_ += c;
    }
    scan_.feed(piece);
  }
  void onEventEnd() override {
    if (dialect_ == Dialect::OpenaiChat && data_start_ == kDone) answer_.complete = true;
    data_start_.clear();
    scan_.restart();
  }

  // EventStreamReader
  void onMessageBegin() override {
    before_ = answer_;
    is_chunk_ = false;
    scan_.restart();
    chunk_.restart();
  }
  void onHeader(std::string_view name, std::string_view value) override {
    if (name == ":event-type") {
      is_chunk_ = value == "chunk";
      if (value == "metadata") answer_.complete = answer_.final = true;
    }
    if (name == ":exception-type" || name == ":error-code")
      answer_.error = cleanName(value, clean_);
  }
  void onPayload(std::string_view piece) override {
    if (is_chunk_) {
      chunk_.feed(piece);
    } else {
      scan_.feed(piece);
    }
  }
  void onMessageEnd(bool sound) override {
    if (!sound && before_) answer_ = *before_;
    before_.reset();
  }

  void take(std::string_view path, const http::JsonValue& value) {
    if (!value.number) return takeText(path, value.text);
    const auto count = countAt(dialect_, withoutWrap(dialect_, path));
    if (!count) return;
    answer_.counts.raise(*count, *value.number);
    if (*count == Count::Output && isFinalUsage(path)) answer_.final = true;
  }

  /// Anthropic tells a first count in message_start, within "message", and the whole one in
  /// message_delta; OpenAI tells it at the end only; Gemini's grows until the end is there.
  bool isFinalUsage(std::string_view path) const {
    if (form_ == Form::Json || dialect_ == Dialect::Gemini) return false;
    return dialect_ == Dialect::OpenaiChat || dialect_ == Dialect::OpenaiResponses ||
           !path.starts_with("message.");
  }

  void takeText(std::string_view path, std::string_view text) {
    const std::string_view bare = withoutWrap(dialect_, path);
    if (bare == "model" || (dialect_ == Dialect::Gemini && bare == "modelVersion"))
      answer_.model = cleanName(text, clean_);
    if (isErrorAt(path, bare)) answer_.error = cleanName(text, clean_);
    if (form_ != Form::Json && isEnd(path, text)) answer_.complete = true;
  }

  bool isErrorAt(std::string_view path, std::string_view bare) {
    switch (dialect_) {
      case Dialect::Gemini:
        return bare == "error.status";
      case Dialect::OpenaiResponses:
      case Dialect::OpenaiChat:
        // The code says more than the type, where there is one.
        if (bare == "error.code" || (form_ != Form::Json && path == "code"))
          return has_code_ = true;
        return bare == "error.type" && !has_code_;
      default:
        return path == "error.type";
    }
  }

  bool isEnd(std::string_view path, std::string_view text) const {
    switch (dialect_) {
      case Dialect::OpenaiResponses:
        return path == "type" && (text == "response.completed" || text == "response.incomplete" ||
                                  text == "response.failed");
      case Dialect::Gemini:
        return path == "candidates[].finishReason" || path == "promptFeedback.blockReason";
      case Dialect::OpenaiChat:
        return false;
      default:
        return path == "type" && text == "message_stop";
    }
  }

  static constexpr std::string_view kDone = "[DONE]\n";

  Dialect dialect_;
  Form form_;
  CleanText clean_;
  Answer answer_;
  std::optional<Answer> before_;  // this message
  std::string first_bytes_;
  bool is_unreadable_ = false;
  std::string data_start_;  // of an event
  bool has_code_ = false;
  bool is_chunk_ = false;
  http::JsonScan scan_;
  EventLines lines_;
  EventStreamReader messages_;
  ChunkReader chunk_;
};

std::unique_ptr<AnswerMeter> AnswerMeter::make(Dialect dialect, std::string_view content_type,
                                               CleanText clean) {
  if (dialect == Dialect::None) return nullptr;
  auto state = std::make_unique<State>(dialect, formOf(content_type), std::move(clean));
  return std::unique_ptr<AnswerMeter>(new AnswerMeter(std::move(state)));
}

AnswerMeter::AnswerMeter(std::unique_ptr<State> state) : state_(std::move(state)) {}
AnswerMeter::~AnswerMeter() = default;

void AnswerMeter::feed(std::string_view bytes) {
  state_->feed(bytes);
}
Usage AnswerMeter::usage() const {
  return state_->usage();
}
bool AnswerMeter::usageTold() const {
  return state_->usageTold();
}
bool AnswerMeter::complete() const {
  return state_->complete();
}
const std::string& AnswerMeter::model() const {
  return state_->model();
}
const std::string& AnswerMeter::error() const {
  return state_->error();
}
bool AnswerMeter::streamed() const {
  return state_->streamed();
}
std::string AnswerMeter::unreadable() const {
  return state_->unreadable();
}

UsageMeter::UsageMeter(bool streamed, CleanText clean)
    : AnswerMeter(std::make_unique<State>(Dialect::Anthropic, streamed ? Form::Lines : Form::Json,
                                          std::move(clean))) {}

}  // namespace warder::models
