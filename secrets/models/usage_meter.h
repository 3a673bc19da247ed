// Reads what a call used out of the answer that streams by (Anthropic's dialect). Never delays or
// changes a byte; constant memory.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "secrets/http/json_scan.h"
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

class UsageMeter {
 public:
  /// `streamed`: the answer is server-sent events, else one JSON document.
  explicit UsageMeter(bool streamed, CleanText clean = {});
  void feed(std::string_view bytes);

  bool streamed() const { return streamed_; }
  const Usage& usage() const { return usage_; }
  const std::string& model() const { return model_; }
  /// The provider's type of error ("overloaded_error"), also one that came amid a stream.
  const std::string& error() const { return error_; }

 private:
  void take(std::string_view path, const http::JsonValue& value);
  void feedLine(std::string_view bytes);
  void endLine();

  bool streamed_;
  CleanText clean_;
  Usage usage_;
  std::string model_;
  std::string error_;
  http::JsonScan scan_;
  std::string line_start_;  // at most "data:"
  bool line_is_data_ = false;
  bool line_is_empty_ = true;
  bool after_return_ = false;
};

/// Text from outside, for an event: at most 128 bytes of letters, digits and ._:/@[]-, the rest
/// replaced by "?".
std::string plainName(std::string_view text);

}  // namespace warder::models
