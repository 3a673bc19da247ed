// Brings one run to one collector: journal, blobs, report, until the receipt. Used by the stage
// while the run lives and by `warder deliver` afterwards.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "supervisor/courier/answer.h"
#include "supervisor/courier/batch_queue.h"
#include "supervisor/courier/exchange.h"
#include "supervisor/courier/retry_schedule.h"
#include "supervisor/courier/run_blobs.h"

namespace warder::courier {

struct DeliveryOrder {
  std::string run_dir;
  std::string run_id;
  std::uint32_t attempt = 1;
  Sink sink;
};

/// Called on the delivery's executor. All may be empty.
struct DeliveryNews {
  std::function<void(std::uint64_t seq)> acked;
  /// Once per change, with a sentence; the state at the start counts as up.
  std::function<void(bool up, const std::string& sentence)> reachable;
  /// For people: "blob 3f2a… sent (12 MiB)".
  std::function<void(const std::string& sentence)> progress;
};

class Delivery {
 public:
  Delivery(boost::asio::any_io_executor executor, DeliveryOrder order, WipedText token,
           DeliveryNews news);

  /// Delivers until the receipt is here. Errors: Timeout when the deadline of finish() came
  /// first, Denied when the collector will not take it; the sentence says what is missing and why.
  /// Call once; this object must live until it returns.
  boost::asio::awaitable<base::Result<json::object>> run();
  /// report.json is complete: from now on there is a deadline.
  void finish(std::chrono::milliseconds within);
  /// The last sequence number that the collector acknowledged.
  std::uint64_t ackedSeq() const { return acked_; }

 private:
  using Clock = std::chrono::steady_clock;
  boost::asio::awaitable<base::Result<json::object>> untilTheEnd();
  boost::asio::awaitable<void> turn();
  boost::asio::awaitable<void> open();
  boost::asio::awaitable<void> sendLines();
  boost::asio::awaitable<void> sendReport();
  boost::asio::awaitable<void> sendBlob(std::string digest);
  boost::asio::awaitable<void> pause(std::chrono::milliseconds time);
  boost::asio::awaitable<NextStep> ask(Ask what, std::shared_ptr<Outgoing> request);
  boost::asio::awaitable<void> settle(NextStep step);
  void readLines();
  void verifyHead();
  bool linesAreDue() const;
  void startFrom(std::uint64_t acked, const std::string& head);
  void acknowledged(std::uint64_t seq);
  void accept(const json::object& receipt, const std::string& report_digest);
  void stop(std::string why);
  std::string attemptPath() const;
  bool late() const { return deadline_ && Clock::now() >= *deadline_; }

  DeliveryOrder order_;
  DeliveryNews news_;
  Exchange exchange_;
  RunBlobs blobs_;
  RetrySchedule retry_;
  BatchQueue queue_;
  std::unique_ptr<journal::JournalTail> tail_;
  boost::asio::steady_timer wake_;
  boost::asio::steady_timer alarm_;
  std::mt19937_64 random_{std::random_device{}()};

  bool opened_ = false;
  bool closed_ = false;  // the collector has a receipt for this attempt already
  bool up_ = true;
  std::uint64_t acked_ = 0;
  std::string unverified_head_;  // the collector's hash of our line acked_
  std::chrono::seconds lease_{60};
  Clock::time_point last_contact_{};
  Clock::time_point first_waiting_{};
  std::optional<Clock::time_point> deadline_;
  unsigned rounds_ = 0;  // reports sent since the last opening
  std::vector<std::string> missing_blobs_;
  std::vector<std::string> lost_blobs_;  // sentences: what the spool does not hold any more
  std::string trouble_;                  // why the last request failed
  std::string stopped_;                  // why nothing more is sent; empty: all is well
  std::optional<json::object> receipt_;
};

}  // namespace warder::courier
