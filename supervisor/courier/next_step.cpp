#include <time.h>

#include <algorithm>

#include "supervisor/base/wire.h"
#include "supervisor/courier/answer.h"
#include "supervisor/journal/digest.h"

namespace warder::courier {

namespace {

using Do = NextStep::Do;
constexpr std::int64_t kLongestWait = 3600;
constexpr std::size_t kMaxMissing = 100'000;

std::optional<std::uint64_t> number(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  boost::system::error_code failure;
  if (value == nullptr) return std::nullopt;
  const auto read = value->to_number<std::int64_t>(failure);
  if (failure || read < 0) return std::nullopt;
  return static_cast<std::uint64_t>(read);
}

std::string text(const json::object& object, std::string_view name, std::size_t limit) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(std::string_view(value->get_string()).substr(0, limit));
}

NextStep rubbish(std::string_view what) {
  NextStep step;
  step.sentence = "the collector's answer makes no sense: " + std::string(what);
  return step;
}

/// Cursor of an answer to Open or Events.
NextStep proceed(const json::object& body) {
  NextStep step;
  const auto acked = number(body, "acked_seq");
  step.head = text(body, "head", 64);
  if (!acked || !journal::isHexDigest(step.head)) return rubbish("no acked_seq or no head");
  step.what = Do::Proceed;
  step.acked_seq = *acked;
  step.lease = std::chrono::seconds(
      std::clamp<std::uint64_t>(number(body, "lease_s").value_or(60), 1, 86'400));
  if (const json::value* receipt = body.if_contains("receipt");
      receipt != nullptr && receipt->is_object())
    step.receipt = receipt->get_object();
  return step;
}

NextStep afterReport(int status, const json::object& body) {
  NextStep step;
  const json::value* receipt = body.if_contains("receipt");
  const json::value* missing = body.if_contains("missing");
  if (status == 200 && receipt != nullptr && receipt->is_object()) {
    step.what = Do::Receipt;
    step.receipt = receipt->get_object();
    return step;
  }
  if (status != 202 || missing == nullptr || !missing->is_object())
    return rubbish("neither a receipt nor what is missing");
  step.what = Do::Missing;
  step.missing_from = number(missing->get_object(), "events_from").value_or(0);
  const json::value* blobs = missing->get_object().if_contains("blobs");
  if (blobs != nullptr && blobs->is_array())
    for (const json::value& blob : blobs->get_array())
      if (blob.is_string() && journal::isHexDigest(blob.get_string()) &&
          step.missing_blobs.size() < kMaxMissing)
        step.missing_blobs.emplace_back(blob.get_string());
  if (step.missing_from == 0 && step.missing_blobs.empty())
    return rubbish("something is missing, but it does not say what");
  return step;
}

NextStep afterRefusal(Ask asked, const HttpAnswer& answer, const json::object& body) {
  NextStep step;
  step.sentence = "the collector answered " + std::to_string(answer.status);
  if (const std::string said = text(body, "sentence", 300); !said.empty())
    step.sentence += ": " + said;
  const bool fork = answer.status == 422;
  switch (answer.status) {
    case 401:
    case 403:
      step.what = Do::Stop;
      break;
    case 410:
      step.what = Do::Stop;
      break;
    case 404:
      step.what = asked == Ask::Open ? Do::Retry : Do::Reopen;
      break;
    case 409:
      if (const auto expected = number(body, "expected");
          asked == Ask::Events && expected && *expected > 0) {
        step.what = Do::Rewind;
        step.acked_seq = *expected - 1;
      }
      break;
    case 413:
      step.what = asked == Ask::Events ? Do::Halve : asked == Ask::Blob ? Do::Skip : Do::Stop;
      break;
    default:
      if (fork) step.what = asked == Ask::Blob ? Do::Skip : Do::Stop;
      break;
  }
  return step;
}

}  // namespace

std::optional<std::chrono::seconds> parseRetryAfter(std::string_view text, std::int64_t now) {
  if (text.empty() || text.size() > 40) return std::nullopt;
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) {
    std::int64_t value = 0;
    for (const char c : text) value = std::min(value * 10 + (c - '0'), kLongestWait);
    return std::chrono::seconds(value);
  }
  std::tm parts{};
  const std::string copy(text);
  // RFC 9110 section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
  const char* rest = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  const std::int64_t until = ::timegm(&parts) - now;
  return std::chrono::seconds(std::clamp<std::int64_t>(until, 0, kLongestWait));
}

NextStep stepAfter(Ask asked, const HttpAnswer& answer, std::int64_t now) {
  const auto value = base::parseJson(answer.body);
  const bool is_object = value && value->is_object();
  const json::object body = is_object ? value->get_object() : json::object();
  NextStep step;
  if (answer.status < 200 || answer.status > 299) {
    step = afterRefusal(asked, answer, body);
  } else if (asked == Ask::Blob) {
    step.what = Do::Proceed;
  } else if (!is_object) {
    step = rubbish("it is no JSON object");
  } else if (asked == Ask::Report) {
    step = afterReport(answer.status, body);
  } else {
    step = proceed(body);
  }
  if (step.what == Do::Retry) step.wait = parseRetryAfter(answer.retry_after, now);
  return step;
}

}  // namespace warder::courier
