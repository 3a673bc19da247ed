#include "supervisor/courier/delivery.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "supervisor/journal/digest.h"

namespace warder::courier {

namespace asio = boost::asio;

namespace {
constexpr auto kNothrow = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kPoll{200};
constexpr std::chrono::milliseconds kGather{500};  // lines wait this long for company
}  // namespace

Delivery::Delivery(asio::any_io_executor executor, DeliveryOrder order, WipedText token,
                   DeliveryNews news)
    : order_(std::move(order)),
      news_(std::move(news)),
      exchange_(order_.sink, std::move(token)),
      blobs_(order_.run_dir),
      wake_(executor),
      alarm_(executor) {}

void Delivery::finish(std::chrono::milliseconds within) {
  deadline_ = Clock::now() + within;
  retry_.hurry();
  wake_.cancel();
  alarm_.expires_at(*deadline_);
  alarm_.async_wait([this](boost::system::error_code cancelled) {
    if (cancelled) return;
    wake_.cancel();
    exchange_.abort();
  });
}

asio::awaitable<base::Result<json::object>> Delivery::run() {
  auto result = co_await untilTheEnd();
  // Nothing of this stays pending in the executor.
  alarm_.cancel();
  exchange_.hangUp();
  co_return result;
}

asio::awaitable<base::Result<json::object>> Delivery::untilTheEnd() {
  while (!receipt_) {
    if (!stopped_.empty() && deadline_)
      co_return base::Error{base::Kind::Denied, stopped_ + "; the spool keeps everything"};
    if (late())
      co_return base::Error{
          base::Kind::Timeout,
          "not acknowledged in time: " +
              (trouble_.empty() ? order_.sink.url + " was not finished" : trouble_) +
              "; the spool keeps everything"};
    co_await turn();
  }
  co_return *receipt_;
}

/// One step: whatever is due now, or a pause.
asio::awaitable<void> Delivery::turn() {
  if (!stopped_.empty()) {
    co_await pause(std::chrono::hours(1));
  } else if (!opened_) {
    co_await open();
  } else if (closed_) {
    if (deadline_) co_return co_await sendReport();
    stop("the collector has closed this run already");
  } else {
    readLines();
    if (!stopped_.empty()) co_return;
    const bool lease_is_due = Clock::now() - last_contact_ >= std::chrono::milliseconds(lease_) / 3;
    if (linesAreDue() || lease_is_due) {
      co_await sendLines();
    } else if (deadline_ && queue_.empty() && !missing_blobs_.empty()) {
      std::string digest = std::move(missing_blobs_.back());
      missing_blobs_.pop_back();
      co_await sendBlob(std::move(digest));
    } else if (deadline_ && queue_.empty()) {
      co_await sendReport();
    } else {
      co_await pause(kPoll);
    }
  }
}

asio::awaitable<void> Delivery::pause(std::chrono::milliseconds time) {
  wake_.expires_after(time);
  if (deadline_ && wake_.expiry() > *deadline_) wake_.expires_at(*deadline_);
  co_await wake_.async_wait(kNothrow);
}

void Delivery::readLines() {
  // What waits already is enough; the rest stays on disk.
  if (queue_.bytes() >= BatchQueue::kMaxBody) return;
  const bool was_empty = queue_.empty();
  auto lines = tail_->more();
  if (!lines) return stop("the journal cannot be read: " + lines.error().sentence());
  queue_.add(std::move(*lines));
  if (was_empty && !queue_.empty()) first_waiting_ = Clock::now();
  if (!unverified_head_.empty()) verifyHead();
  if (const auto hole = queue_.holeAfter(acked_); unverified_head_.empty() && hole != 0)
    stop("the journal is damaged: event " + std::to_string(hole) + " is missing");
}

/// The collector's last line must be ours: otherwise two histories bear one name.
void Delivery::verifyHead() {
  const Batch batch = queue_.next();
  if (batch.first == acked_) {
    const std::string line = batch.body.substr(0, batch.body.find('\n'));
    if (journal::sha256Hex(line) != unverified_head_)
      return stop("the collector holds another history of this run");
    unverified_head_.clear();
    queue_.acked(acked_);
  } else if (batch.first != 0 || deadline_) {
    stop("the collector holds events of this run that the spool does not have");
  }
}

bool Delivery::linesAreDue() const {
  if (queue_.empty() || !unverified_head_.empty()) return false;
  return deadline_ || queue_.bytes() >= BatchQueue::kMaxBody ||
         Clock::now() - first_waiting_ >= kGather || acked_ == 0;
}

void Delivery::startFrom(std::uint64_t acked, const std::string& head) {
  acked_ = acked;
  unverified_head_ = acked > 0 ? head : std::string();
  queue_.clear();
  // One line back, to compare it with the collector's head.
  tail_ = std::make_unique<journal::JournalTail>(order_.run_dir, acked > 0 ? acked - 1 : 0);
}

void Delivery::acknowledged(std::uint64_t seq) {
  acked_ = seq;
  queue_.acked(seq);
  first_waiting_ = Clock::now();
  if (news_.acked) news_.acked(seq);
}

void Delivery::stop(std::string why) {
  if (stopped_.empty()) stopped_ = order_.sink.url + ": " + std::move(why);
}

void Delivery::accept(const json::object& receipt, const std::string& report_digest) {
  const json::value* digest = receipt.if_contains("report_sha256");
  if (digest == nullptr || !digest->is_string())
    trouble_ = "the receipt names no report";
  else if (digest->get_string() != report_digest)
    stop("the collector has another report of this run");
  else
    receipt_ = receipt;
}

std::string Delivery::attemptPath() const {
  return "/v1/runs/" + order_.run_id + "/attempts/" + std::to_string(order_.attempt);
}

}  // namespace warder::courier
