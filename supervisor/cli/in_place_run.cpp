#include "supervisor/cli/in_place_run.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "supervisor/base/log.h"
#include "supervisor/cli/run_view.h"
#include "supervisor/init/supervisor.h"
#include "supervisor/launch/confine.h"
#include "supervisor/watch/signals.h"

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Result;

namespace {

constexpr std::chrono::milliseconds kShowEvery{200};

/// Not dumpable, so that no process of the agent's user reads our memory or descriptors; no core
/// file; and where we are not PID 1, orphans come to us and not to whoever is.
base::Status harden() {
  if (auto hard = launch::forbidDumps(); !hard) return hard;
  if (::getpid() == 1) return {};
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    return base::kernelError("cannot become a subreaper");
  base::log(base::Level::Warn, "this is not PID 1 but " + std::to_string(::getpid()) +
                                   ": only what the run starts is signalled and collected");
  return {};
}

/// Shows what there is to show again and again, beside the run.
class Showing {
 public:
  Showing(boost::asio::io_context& context, RunView& view) : timer_(context), view_(view) {
    next();
  }

 private:
  void next() {
    timer_.expires_after(kShowEvery);
    timer_.async_wait([this](const boost::system::error_code& failure) {
      if (failure) return;
      view_.showOutput();
      next();
    });
  }

  boost::asio::steady_timer timer_;
  RunView& view_;
};

Result<int> conduct(PreparedRun& run, RunView& view) try {
  boost::asio::io_context context(1);
  const auto look = [&view](const base::json::object& message) {
    if (const auto* event = message.if_contains("event"))
      view.show(base::eventFromMessage(event->as_object()));
    else if (const auto* status = message.if_contains("status"))
      view.showStatus(status->as_object());
  };
  Showing showing(context, view);
  return init::Supervisor(context, run.config, look, std::move(run.orders)).run();
} catch (const std::exception& error) {
  return Error{Kind::Internal, std::string("init: ") + error.what()};
}

std::vector<int> numbersOf(const std::vector<base::UniqueFd>& fds) {
  std::vector<int> numbers;
  for (const auto& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

}  // namespace

RunEnd runInPlace(InPlaceRun order) {
  base::setUpLog("init");
  auto prepared = prepareRun(std::move(order.request));
  if (const auto* refused = std::get_if<RunEnd>(&prepared)) return *refused;
  auto& run = std::get<PreparedRun>(prepared);
  if (auto hard = harden(); !hard) return refuseStarted(run, hard.error());
  init::InitConfig& config = run.config;
  config.one_id = !launch::mayChangeIds();
  config.stop_within = order.stop_within;
  config.cgroups = order.cgroups;
  config.boot_warnings = order.boot_warnings;
  config.secret_fds = numbersOf(run.secrets);
  config.token_fds = numbersOf(run.tokens);
  // init closes the secrets itself, as soon as the broker has them.
  for (auto& secret : run.secrets) secret.release();
  RunView view(config.run_dir, order.quiet);
  const job::JobSpec job = run.orders.job;
  const auto ended = conduct(run, view);
  run.orders.job = job;
  const auto signals = watch::openSignalFd();
  view.finish(signals ? signals->get() : -1);
  return finishRun(run, ended);
}

}  // namespace warder::cli
