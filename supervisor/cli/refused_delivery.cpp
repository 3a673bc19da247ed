#include "supervisor/cli/refused_delivery.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <iostream>

#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/init/courier_start.h"
#include "supervisor/journal/run_files.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/launch/confine.h"
#include "supervisor/watch/reaper.h"
#include "supervisor/watch/signals.h"

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Status;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kStartLimit{10'000};
// The courier keeps its own deadline; this is for a courier that does not.
constexpr std::chrono::milliseconds kSlack{5'000};
constexpr std::chrono::milliseconds kLongestWait{60'000};  // of one poll

class Wait {
 public:
  Wait(const std::string& run_dir, int control, int signals)
      : run_dir_(run_dir), control_(control), signals_(signals) {}

  Status until(Clock::time_point end) {
    for (std::optional<Status> ended; !ended;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      if (left.count() <= 0) return Error{Kind::Timeout, "the courier did not end in time"};
      pollfd sources[] = {{control_, POLLIN, 0}, {signals_, POLLIN, 0}};
      ::poll(sources, 2, static_cast<int>(std::min(left, kLongestWait).count()));
      if (sources[1].revents != 0)
        if (auto stop = hearSignals(); !stop) return stop;
      if (sources[0].revents != 0) ended = hearCourier();
      if (ended) return *ended;
    }
    return {};
  }

 private:
  Status hearSignals() {
    for (const auto& signal : watch::readSignals(signals_)) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP)
        return Error{Kind::Timeout, "stopped by " + watch::signalName(number)};
    }
    watch::reapAll();
    return {};
  }

  /// Nothing while the courier goes on.
  std::optional<Status> hearCourier() {
    auto message = base::receiveMessage(control_);
    if (!message) return Status(message.error());
    if (!*message) return Status(Error{Kind::Peer, "the courier ended without a word"});
    const auto& body = (*message)->body;
    if (const auto* receipt = body.if_contains("delivered")) {
      auto kept = journal::writeJsonFile(run_dir_, journal::kReceiptFile, receipt->as_object());
      return kept ? Status() : Status(kept.error());
    }
    if (const auto* gave_up = body.if_contains("gave_up"))
      return Status(Error{Kind::Timeout, std::string(gave_up->at("sentence").as_string())});
    return std::nullopt;  // what it meets under way it logs itself
  }

  const std::string& run_dir_;
  int control_;
  int signals_;
};

}  // namespace

Status deliverRefused(const RefusedDelivery& order) try {
  watch::blockAll();
  auto signals = watch::openSignalFd();
  if (!signals) return signals.error();
  auto folder = base::openFile(order.run_dir, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  constexpr int kFirstAttempt = 1;
  auto courier = init::startCourierStage({folder->get(), order.run_id, kFirstAttempt,
                                          order.results.to, order.tokens, !launch::mayChangeIds()});
  if (!courier) return courier.error();
  if (auto ready = launch::awaitReady(*courier, kStartLimit); !ready) return ready.error();
  const auto within = order.results.deliver_within;
  auto asked =
      base::sendMessage(courier->control.get(), {{"finishing", {{"deadline_ms", within.count()}}}});
  if (!asked) return asked;
  return Wait(order.run_dir, courier->control.get(), signals->get())
      .until(Clock::now() + within + kSlack);
} catch (const std::exception& error) {
  return Error{Kind::Internal, std::string("the courier said something else: ") + error.what()};
}

}  // namespace warder::cli
