// Reads what a call used out of the answer that streams by. Never delays or changes a byte;
// constant memory.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "secrets/http/json_scan.h"
#include "secrets/models/dialect.h"
#include "secrets/models/provider.h"

namespace warder::models {

/// Takes secrets out of a text before it is made plain and cut: afterwards they could be readable
/// and yet not be recognised.
using CleanText = std::function<void(std::string&)>;

/// The model that a request names, from its JSON body as it streams by.
class ModelScan {
 public:
  explicit ModelScan(CleanText clean = {});
  void feed(std::string_view bytes);
  const std::string& model() const { return model_; }

 private:
  CleanText clean_;
  std::string model_;
  http::JsonScan scan_;
};

class AnswerMeter {
 public:
  /// `content_type`: the answer's, as it came; where it names no form of a stream, the first byte
  /// decides. Nothing for a dialect that has no usage (None).
  static std::unique_ptr<AnswerMeter> make(Dialect dialect, std::string_view content_type,
                                           CleanText clean = {});
  AnswerMeter(const AnswerMeter&) = delete;
  AnswerMeter& operator=(const AnswerMeter&) = delete;
  ~AnswerMeter();

  /// The next bytes of the answer, without framing.
  void feed(std::string_view bytes);

  /// What was told so far. While an answer streams this is a part of the truth.
  Usage usage() const;
  /// The usage of the whole call is told. False: it is unknown (a stream that was cut, or that was
  /// not asked to tell it), and usage() is no more than a lower bound. Nothing is estimated.
  bool usageTold() const;
  /// The answer came to its own end: a whole document, or a stream's last event.
  bool complete() const;
  /// The answer's model, made plain; empty when it names none (Bedrock's Converse never does).
  const std::string& model() const;
  /// The provider's type of error ("overloaded_error"), also one that came amid a stream.
  const std::string& error() const;
  /// The answer is a stream of events.
  bool streamed() const;
  /// What the body is instead of what was announced: "gzip", "zstd" or "other", and its first
  /// bytes in hexadecimal. Empty while nothing is wrong.
  std::string unreadable() const;

 protected:
  class State;
  explicit AnswerMeter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Anthropic's dialect alone.
class UsageMeter : public AnswerMeter {
 public:
  /// `streamed`: the answer is server-sent events, else one JSON document.
  explicit UsageMeter(bool streamed, CleanText clean = {});
};

/// Text from outside, for an event: at most 128 bytes of letters, digits and ._:/@[]-, the rest
/// replaced by "?".
std::string plainName(std::string_view text);

}  // namespace warder::models
