// What a collector answers, and what follows from it. Pure; the bytes come from another machine.
#pragma once
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::courier {

namespace json = boost::json;

struct HttpAnswer {
  int status = 0;
  std::string body;
  std::string retry_after;
  bool keep_alive = false;
};

/// Longest answer body that is read.
inline constexpr std::size_t kMaxAnswer = 4 << 20;

/// Reads one HTTP/1.1 answer from bytes that come in pieces. 1xx answers are stepped over.
class AnswerReader {
 public:
  /// `to_head`: the answer to a HEAD request has no body.
  explicit AnswerReader(bool to_head);
  ~AnswerReader();
  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  /// True when the answer is whole. Errors: Peer when this is no HTTP, or too large.
  base::Result<bool> take(std::string& bytes);
  /// The peer closed: ends a body without a length. Errors: Peer when the answer is cut.
  base::Status end();
  /// Bytes were taken; a request that got them may have been acted upon.
  bool started() const { return started_; }
  HttpAnswer answer();

 private:
  struct Parser;
  void restart();
  bool to_head_;
  bool started_ = false;
  std::unique_ptr<Parser> parser_;
};

enum class Ask { Open, Events, Blob, Report };

/// What to do after an answer.
struct NextStep {
  enum class Do {
    Proceed,  // acknowledged; acked_seq and head are set for Open and Events
    Receipt,  // the report was accepted, or had been: `receipt`
    Missing,  // the report was accepted, `missing_*` is still needed
    Rewind,   // send again from acked_seq + 1
    Halve,    // the batch was too large
    Reopen,   // the collector does not know the attempt
    Skip,     // this blob is not what it should be
    Retry,    // later; `wait` when the collector said when
    Stop,     // never: the collector will not take it
  } what = Do::Retry;
  std::uint64_t acked_seq = 0;
  std::string head;
  std::chrono::seconds lease{60};
  std::optional<json::object> receipt;
  std::uint64_t missing_from = 0;  // 0: no event
  std::vector<std::string> missing_blobs;
  std::optional<std::chrono::seconds> wait;
  std::string sentence;  // why, for all but Proceed
};

/// docs/protocol.md as a function. `now` in seconds since 1970, for a Retry-After with a date.
NextStep stepAfter(Ask asked, const HttpAnswer& answer, std::int64_t now);

/// Seconds of a Retry-After header, a number or an HTTP date; at most an hour.
std::optional<std::chrono::seconds> parseRetryAfter(std::string_view text, std::int64_t now);

}  // namespace warder::courier
