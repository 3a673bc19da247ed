#include "supervisor/cli/box.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "supervisor/base/wire.h"
#include "supervisor/launch/namespaces.h"
#include "supervisor/launch/spawner.h"
#include "supervisor/watch/reaper.h"
#include "supervisor/watch/signals.h"

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Result;

namespace {

constexpr int kShowEveryMs = 200;

class BoxWatch {
 public:
  BoxWatch(launch::StartedStage init, base::UniqueFd signals, RunView& view)
      : init_(std::move(init)), signals_(std::move(signals)), view_(view) {}

  Result<int> wait() {
    while (!ended_) {
      pollfd sources[] = {{signals_.get(), POLLIN, 0},
                          {talking_ ? init_.control.get() : -1, POLLIN, 0},
                          {view_.wantsToWrite(), POLLOUT, 0}};
      ::poll(sources, 3, kShowEveryMs);
      if (sources[1].revents != 0) hear();
      view_.showOutput();
      if (sources[0].revents != 0) onSignals();
    }
    while (talking_ && hear()) {
    }
    // The run is over; whoever does not read must not keep a person from leaving.
    while (!view_.finish(signals_.get()) && !toldToEnd()) {
    }
    if (ended_->signaled)
      return Error{Kind::Internal,
                   "the box's init was killed by " + watch::signalName(ended_->code)};
    return ended_->code;
  }

 private:
  bool hear() {
    auto message = base::receiveMessage(init_.control.get());
    talking_ = message && message->has_value();
    if (!talking_) return false;
    if (const auto* event = (*message)->body.if_contains("event"))
      view_.show(base::eventFromMessage(event->as_object()));
    else if (const auto* status = (*message)->body.if_contains("status"))
      view_.showStatus(status->as_object());
    return true;
  }

  bool toldToEnd() {
    for (const auto& signal : watch::readSignals(signals_.get()))
      for (const unsigned number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP})
        if (signal.ssi_signo == number) return true;
    return false;
  }

  void onSignals() {
    for (const auto& signal : watch::readSignals(signals_.get())) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP)
        ::kill(init_.pid, number == SIGHUP ? SIGTERM : number);
    }
    for (const auto& ended : watch::reapAll())
      if (ended.pid == init_.pid) ended_ = ended;
  }

  launch::StartedStage init_;
  base::UniqueFd signals_;
  RunView& view_;
  bool talking_ = true;
  std::optional<watch::Ended> ended_;
};

}  // namespace

Result<int> runBox(BoxInput input, RunView& view) {
  watch::blockAll();
  auto signals = watch::openSignalFd();
  if (!signals) return signals.error();
  auto made = launch::enterBoxNamespaces();
  if (!made) return made.error();
  input.config.one_id = made->new_user_namespace;

  launch::StageStart start;
  start.stage = "init";
  start.service = false;
  start.keep_signal_mask = true;
  int number = base::kFirstExtraFd;
  for (const auto& fd : input.secrets) {
    input.config.secret_fds.push_back(number++);
    start.extra_fds.push_back(fd.get());
  }
  for (const auto& fd : input.tokens) {
    input.config.token_fds.push_back(number++);
    start.extra_fds.push_back(fd.get());
  }
  start.config = init::toJson(input.config);
  auto stage = launch::startStage(start);
  if (!stage) return stage.error();
  input.secrets.clear();
  input.tokens.clear();
  return BoxWatch(std::move(*stage), std::move(*signals), view).wait();
}

}  // namespace warder::cli
