// The handlers of what boxes bring. What they acknowledge is on disk.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "collector/base64.h"
#include "collector/service.h"
#include "collector/sound_json.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/digest.h"

namespace warder::collector {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kMaxOpening = 256 * 1024;
constexpr Moment kRenewEvery = 1000;  // milliseconds

Answer closing(Answer answer) {
  answer.close = true;
  return answer;
}

/// A batch says which numbers it holds; empty stands for a heartbeat.
bool seqFieldFits(std::string_view field, const std::vector<EventLine>& lines) {
  if (lines.empty()) return field.empty();
  return field == std::to_string(lines.front().seq) + "-" + std::to_string(lines.back().seq);
}

/// The reason why an identity does not belong to the address it was sent to; empty when it does.
std::string identityFault(const json::object& identity, const AttemptKey& key) {
  const json::value* run = identity.if_contains("run_id");
  const json::value* attempt = identity.if_contains("attempt");
  boost::system::error_code failure;
  if (run == nullptr || !run->is_string() || run->get_string() != key.run)
    return "run_id is not the run of this address";
  if (attempt == nullptr || attempt->to_number<std::uint64_t>(failure) != key.attempt || failure)
    return "attempt is not the attempt of this address";
  return {};
}

/// The reason why a report does not belong to the address it was sent to; empty when it does. A
/// report that names no run belongs to any; whether it is a report the store says.
std::string reportFault(std::string_view text, const AttemptKey& key) {
  const auto value = base::parseJson(text);
  if (!value) return "the report is not JSON";
  if (!value->is_object()) return {};
  const json::value* run = value->get_object().if_contains("run");
  if (run == nullptr) return {};
  if (!run->is_object()) return "report.run is not an object";
  const std::string fault = identityFault(run->get_object(), key);
  return fault.empty() ? fault : "report.run does not fit: " + fault;
}

struct Whole {
  std::string text;
  std::optional<Answer> refusal;
};

asio::awaitable<Whole> whole(Body* body, std::size_t limit) {
  Whole read;
  if (body->remaining() > limit) {
    read.refusal = closing(errorAnswer(
        413, "too_large", "the body is larger than " + std::to_string(limit) + " bytes"));
    co_return read;
  }
  for (;;) {
    const std::string piece = co_await body->next();
    if (piece.empty()) break;
    read.text += piece;
  }
  if (body->broken()) read.refusal = closing(errorAnswer(400, "malformed", "the body ended early"));
  co_return read;
}

asio::awaitable<base::Status> keepOnDisk(const BlobFolder* folder, IncomingBlob* blob,
                                         std::string digest) {
  co_return folder->keep(*blob, digest);
}

}  // namespace

Service::Reply Service::bring(Request request, Target target, Body* body) {
  if (!request.content_length)
    co_return closing(errorAnswer(411, "length", "a Content-Length is needed"));
  const AttemptKey key{target.run, target.attempt};
  if (target.resource == Resource::Open) co_return co_await open(key, body);
  if (target.resource == Resource::Report) co_return co_await report(key, body);
  if (target.resource == Resource::Events) {
    auto answered = events(std::move(request), key, body);
    co_return co_await std::move(answered);
  }
  auto answered = blob(std::move(request), std::move(target), body);
  co_return co_await std::move(answered);
}

Service::Reply Service::open(AttemptKey key, Body* body) {
  auto read = co_await whole(body, kMaxOpening);
  if (read.refusal) co_return std::move(*read.refusal);
  const std::string& text = read.text;
  const auto value = readBack(text);
  if (!value || !value->is_object())
    co_return errorAnswer(400, "malformed", "the opening is not a JSON object");
  const json::object& object = value->get_object();
  const json::value* identity = object.if_contains("identity");
  const json::value* public_key = object.if_contains("key");
  if (identity == nullptr || !identity->is_object())
    co_return errorAnswer(400, "malformed", "the opening has no identity");
  const std::string fault = identityFault(identity->get_object(), key);
  if (!fault.empty()) co_return errorAnswer(400, "malformed", fault);
  Opening opening;
  opening.identity = json::serialize(*identity);
  if (public_key != nullptr && public_key->is_string() && public_key->get_string().size() <= 128)
    opening.key = std::string(public_key->get_string());
  const auto opened = store_.openAttempt(key, opening, now());
  if (!opened) co_return answerFor(opened.error());
  if (!opened->conflict.empty()) co_return errorAnswer(409, "another_box", opened->conflict);
  json::object answer{{"acked_seq", opened->cursor.acked_seq},
                      {"head", opened->cursor.head},
                      {"lease_s", store_.lease().count()}};
  if (!opened->receipt.empty()) answer["receipt"] = json::parse(opened->receipt);
  co_return jsonAnswer(answer);
}

Service::Reply Service::events(Request request, AttemptKey key, Body* body) {
  auto read = co_await whole(body, kMaxBatch);
  if (read.refusal) co_return std::move(*read.refusal);
  const std::string& text = read.text;
  if (!text.empty() && request.content_digest != digestField(journal::sha256Raw(text)))
    co_return errorAnswer(400, "digest", "the body is not what its Content-Digest says");
  const auto lines = parseBatch(text, key);
  if (!lines) co_return answerFor(lines.error());
  if (!seqFieldFits(request.warder_seq, *lines))
    co_return errorAnswer(400, "malformed", "Warder-Seq does not name the lines of the body");
  const auto appended = store_.append(key, *lines, now());
  if (!appended) co_return answerFor(appended.error());
  switch (appended->what) {
    case AppendAnswer::What::Stored:
      break;
    case AppendAnswer::What::Gap:
      co_return jsonAnswer({{"error", "gap"},
                            {"sentence", "lines before these are missing"},
                            {"expected", appended->cursor.acked_seq + 1}},
                           409);
    case AppendAnswer::What::Fork:
      co_return errorAnswer(422, "fork", appended->sentence);
    case AppendAnswer::What::Closed:
      co_return errorAnswer(410, "closed", appended->sentence);
  }
  co_return jsonAnswer(
      {{"acked_seq", appended->cursor.acked_seq}, {"head", appended->cursor.head}});
}

Service::Reply Service::blob(Request request, Target target, Body* body) {
  const AttemptKey key{target.run, target.attempt};
  if (const auto touched = store_.touch(key, now()); !touched)
    co_return closing(answerFor(touched.error()));
  if (*request.content_length > rules_.max_blob)
    co_return closing(errorAnswer(413, "too_large",
                                  "a blob may have " + std::to_string(rules_.max_blob) + " bytes"));
  std::string raw;
  for (std::size_t i = 0; i < target.blob.size(); i += 2)
    raw += static_cast<char>(std::stoi(target.blob.substr(i, 2), nullptr, 16));
  if (request.repr_digest != digestField(raw))
    co_return closing(errorAnswer(400, "digest", "Repr-Digest does not name the blob's digest"));
  auto incoming = store_.blobs().begin();
  if (!incoming) co_return closing(answerFor(incoming.error()));
  Moment renewed = now();
  for (;;) {
    const std::string piece = co_await body->next();
    if (piece.empty()) break;
    if (const auto written = incoming->write(piece); !written)
      co_return closing(answerFor(written.error()));
    // A large blob takes longer than a lease; its bytes are a sign of life too.
    if (now() - renewed < kRenewEvery) continue;
    renewed = now();
    if (const auto touched = store_.touch(key, renewed); !touched)
      co_return closing(answerFor(touched.error()));
  }
  if (body->broken()) co_return closing(errorAnswer(400, "malformed", "the body ended early"));
  if (incoming->digest() != target.blob)
    co_return errorAnswer(422, "digest", "the bytes do not have the digest of this address");
  auto keeping = keepOnDisk(&store_.blobs(), &*incoming, target.blob);
  const auto kept = co_await asio::co_spawn(disk_, std::move(keeping), asio::use_awaitable);
  if (!kept) co_return answerFor(kept.error());
  if (const auto touched = store_.touch(key, now()); !touched) co_return answerFor(touched.error());
  co_return jsonAnswer({{"stored", "sha256:" + target.blob}}, 201);
}

Service::Reply Service::report(AttemptKey key, Body* body) {
  auto read = co_await whole(body, rules_.max_report);
  if (read.refusal) co_return std::move(*read.refusal);
  const std::string& text = read.text;
  const std::string fault = reportFault(text, key);
  if (!fault.empty()) co_return errorAnswer(400, "malformed", fault);
  const auto stored = store_.putReport(key, text, now());
  if (!stored) co_return answerFor(stored.error());
  switch (stored->what) {
    case ReportAnswer::What::Fork:
      co_return errorAnswer(422, "fork", "the run was closed with another report");
    case ReportAnswer::What::Refused:
      co_return errorAnswer(422, "report", stored->sentence);
    case ReportAnswer::What::Missing: {
      json::object missing{{"blobs", json::array(stored->blobs.begin(), stored->blobs.end())}};
      if (stored->events_from != 0) missing["events_from"] = stored->events_from;
      co_return jsonAnswer({{"missing", std::move(missing)}}, 202);
    }
    case ReportAnswer::What::Complete:
      break;
  }
  base::log(base::Level::Info, "run " + key.run + " is complete");
  json::object answer;
  answer["receipt"] = json::parse(stored->receipt);
  co_return jsonAnswer(answer);
}

}  // namespace warder::collector
