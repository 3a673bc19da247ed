// The requests of a delivery, and what their answers do to it.
#include <ctime>

#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/courier/delivery.h"
#include "supervisor/courier/digest_field.h"
#include "supervisor/journal/digest.h"
#include "supervisor/journal/scribe_protocol.h"

namespace warder::courier {

namespace asio = boost::asio;
using Do = NextStep::Do;

namespace {
constexpr std::size_t kMaxReport = 4 << 20;
}

asio::awaitable<NextStep> Delivery::ask(Ask what, std::shared_ptr<Outgoing> request) {
  request->path = attemptPath() + request->path;
  NextStep step;
  if (deadline_)
    exchange_.hurry(
        std::chrono::duration_cast<std::chrono::milliseconds>(*deadline_ - Clock::now()));
  auto asking = exchange_.ask(std::move(request));
  const auto answer = co_await std::move(asking);
  if (answer) {
    step = stepAfter(what, *answer, std::time(nullptr));
  } else {
    step.sentence = answer.error().sentence();
  }
  const bool worked = step.what != Do::Retry && step.what != Do::Stop;
  if (worked) {
    last_contact_ = Clock::now();
    trouble_.clear();
  } else {
    trouble_ = step.sentence;
  }
  if (worked != up_) {
    up_ = worked;
    const std::string sentence = worked ? order_.sink.url + " takes results again" : trouble_;
    if (news_.reachable) news_.reachable(up_, sentence);
  }
  co_return step;
}

/// What is the same after every request. What proceeds is the caller's.
asio::awaitable<void> Delivery::settle(NextStep step) {
  switch (step.what) {
    case Do::Stop:
      stop(step.sentence);
      break;
    case Do::Reopen:
      opened_ = false;
      missing_blobs_.clear();
      [[fallthrough]];
    case Do::Retry: {
      const double chance = std::uniform_real_distribution<double>(0, 1)(random_);
      const auto time = retry_.next(chance, step.wait);
      co_await pause(time);
      break;
    }
    default:
      retry_.reset();
      break;
  }
}

asio::awaitable<void> Delivery::open() {
  const std::string path = order_.run_dir + "/" + journal::kIdentityFile;
  const auto identity = base::readFile(path, 64 * 1024);
  if (!identity) co_return stop("cannot read the run's identity: " + identity.error().sentence());
  const auto value = base::parseJson(*identity);
  if (!value) co_return stop(path + " " + value.error().doing);
  const json::object opening{{"identity", *value}, {"key", ""}};
  auto request = std::make_shared<Outgoing>();
  request->method = "POST";
  request->path = "/open";
  request->headers.emplace_back("Content-Type", "application/json");
  request->body = json::serialize(opening);
  const NextStep step = co_await ask(Ask::Open, request);
  if (step.what == Do::Proceed) {
    opened_ = true;
    closed_ = step.receipt.has_value();
    rounds_ = 0;
    lease_ = step.lease;
    startFrom(step.acked_seq, step.head);
    if (step.acked_seq > 0 && news_.acked) news_.acked(step.acked_seq);
  }
  co_await settle(step);
}

asio::awaitable<void> Delivery::sendLines() {
  Batch batch;
  if (unverified_head_.empty()) batch = queue_.next();  // else an empty one: a sign of life
  auto request = std::make_shared<Outgoing>();
  request->method = "POST";
  request->path = "/events";
  request->headers.emplace_back("Content-Type", "application/x-ndjson");
  if (!batch.body.empty()) {
    request->headers.emplace_back("Warder-Seq",
                                  std::to_string(batch.first) + "-" + std::to_string(batch.last));
    request->headers.emplace_back("Content-Digest", digestField(journal::sha256Raw(batch.body)));
  }
  request->body = batch.body;
  NextStep step = co_await ask(Ask::Events, request);
  if (step.what == Do::Proceed && !batch.body.empty()) {
    const bool same = step.acked_seq == batch.last && step.head == batch.last_hash;
    if (same) {
      acknowledged(batch.last);
    } else {
      // Whatever the collector means, opening anew tells where it stands.
      step.what = Do::Reopen;
      trouble_ = "the collector acknowledged something else than what was sent";
    }
  }
  if (step.what == Do::Rewind && step.acked_seq + 1 >= batch.first) {
    step.what = Do::Reopen;
    trouble_ = step.sentence;
  }
  if (step.what == Do::Rewind) {
    queue_.clear();
    acked_ = step.acked_seq;
    tail_ = std::make_unique<journal::JournalTail>(order_.run_dir, acked_);
  }
  if (step.what == Do::Halve && !queue_.halve()) stop(step.sentence);
  co_await settle(step);
}

asio::awaitable<void> Delivery::sendBlob(std::string digest) {
  auto blob = blobs_.open(digest);
  if (!blob) {
    lost_blobs_.push_back("blob " + digest + ": " + blob.error().sentence());
    co_return;
  }
  std::string raw;
  for (std::size_t i = 0; i < digest.size(); i += 2)
    raw += static_cast<char>(std::stoi(digest.substr(i, 2), nullptr, 16));
  auto request = std::make_shared<Outgoing>();
  request->method = "PUT";
  request->path = "/blobs/" + digest;
  request->headers.emplace_back("Content-Type", "application/octet-stream");
  request->headers.emplace_back("Repr-Digest", digestField(raw));
  request->file_bytes = blob->bytes;
  request->file = std::move(blob->file);
  const NextStep step = co_await ask(Ask::Blob, request);
  if (step.what == Do::Skip) lost_blobs_.push_back("blob " + digest + ": " + step.sentence);
  if (step.what == Do::Retry) missing_blobs_.push_back(digest);
  if (step.what == Do::Proceed && news_.progress)
    news_.progress("blob " + digest.substr(0, 12) + " sent, " +
                   std::to_string(request->file_bytes) + " bytes");
  co_await settle(step);
}

asio::awaitable<void> Delivery::sendReport() {
  const std::string path = order_.run_dir + "/" + journal::kReportFile;
  const auto report = base::readFile(path, kMaxReport);
  if (!report) co_return stop("cannot read the report: " + report.error().sentence());
  auto request = std::make_shared<Outgoing>();
  request->method = "PUT";
  request->path = "/report";
  request->headers.emplace_back("Content-Type", "application/json");
  request->body = *report;
  NextStep step = co_await ask(Ask::Report, request);
  if (step.what == Do::Receipt) accept(*step.receipt, "sha256:" + journal::sha256Hex(*report));
  if (step.what == Do::Missing && !lost_blobs_.empty()) {
    // All that could be sent was sent, and this is still missing.
    co_return stop(lost_blobs_.front() + (lost_blobs_.size() > 1 ? " (and others)" : ""));
  }
  if (step.what == Do::Missing) {
    if (news_.progress) news_.progress("the report is there; what it refers to follows");
    missing_blobs_ = step.missing_blobs;
    const auto read = blobs_.readJournal();
    if (!read) co_return stop("the journal cannot be read: " + read.error().sentence());
    if (step.missing_from != 0 && step.missing_blobs.empty()) {
      // The journal has not yet what the report refers to, or it was rewound.
      step.what = step.missing_from <= acked_ ? Do::Reopen : Do::Retry;
      trouble_ = "event " + std::to_string(step.missing_from) + " is still to come";
    } else if (++rounds_ > 1) {
      step.what = Do::Retry;  // what was sent is missing again: no hurry
    }
  }
  co_await settle(step);
}

}  // namespace warder::courier
