#include "supervisor/init/supervisor.h"

#include <signal.h>

#include "supervisor/base/log.h"
#include "supervisor/init/tokens.h"
#include "supervisor/watch/signals.h"

namespace warder::init {

using base::Durability;
using base::Event;
namespace json = base::json;

namespace {
constexpr std::chrono::milliseconds kStatusEvery{500};

constexpr const char* kPhaseNames[] = {"starting", "baseline",   "running",
                                       "stopping", "leftovers",  "harvest",
                                       "closing",  "delivering", "done"};
}  // namespace

Supervisor::Supervisor(boost::asio::io_context& context, InitConfig config, Viewer viewer,
                       std::optional<Orders> orders)
    : context_(context),
      config_(std::move(config)),
      orders_read_(orders.has_value()),
      orders_(orders ? std::move(*orders) : Orders()),
      viewer_(std::move(viewer)),
      signals_(context),
      wall_(context),
      step_(context),
      told_(context) {}

int Supervisor::run() {
  listenForSignals();
  if (auto started = startScribe(); !started) {
    base::log(base::Level::Error, started.error().sentence());
    return exit_code_;
  }
  startNetwork();
  auto read = readOrders();
  if (auto synced = syncRunFolder(); read && !synced) read = synced;
  if (auto ready = awaitScribe(); !ready) {
    base::log(base::Level::Error, ready.error().sentence());
    return exit_code_;
  }
  recordStart();
  openControl();
  if (!read)
    setupFailed("job", read.error());
  else
    makeNetworkAndBroker();
  tellStatus();
  context_.run();
  return exit_code_;
}

void Supervisor::record(Event event, int token) {
  json::object body = {{"event", base::toMessage(event)}};
  // What is said too long is said short; it must never be that it is not said.
  if (const auto size = json::serialize(body).size(); size > kMaxEventBytes) {
    event.data = {{"left_out_bytes", size}, {"sentence", "too large for one event"}};
    body["event"] = base::toMessage(event);
  }
  fold_.add(event);
  show(body);
  if (token != 0) body["token"] = token;
  if (scribe_.link) scribe_.link->send(std::move(body));
}

void Supervisor::show(const json::object& body) {
  addEvent(status_, base::eventFromMessage(body.at("event").as_object()));
  viewer_(body);
}

json::object Supervisor::statusJson() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  status_.phase = kPhaseNames[static_cast<int>(phase_)];
  status_.elapsed_ms = duration_cast<milliseconds>(steady_clock::now() - started_).count();
  if (memory_)
    if (const auto sample = memory_->latest())
      setMemory(status_, {sample->used_bytes, sample->limit_bytes,
                          std::string(watch::nameOf(sample->source)), 0});
  return toJson(status_);
}

void Supervisor::tellStatus() {
  if (disk_) disk_->look();
  viewer_({{"status", statusJson()}});
  told_.expires_after(kStatusEvery);
  told_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) tellStatus();
  });
}

void Supervisor::listenForSignals() {
  auto fd = watch::openSignalFd();
  if (!fd) {
    base::log(base::Level::Error, fd.error().sentence());
    return;
  }
  signals_.assign(fd->release());
  onSignals();
}

void Supervisor::onSignals() {
  for (const auto& signal : watch::readSignals(signals_.native_handle()))
    if (signal.ssi_signo != SIGCHLD) onSignal(static_cast<int>(signal.ssi_signo));
  for (const auto& ended : watch::reapAll()) onChildEnded(ended);
  signals_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& failure) {
                        if (!failure) onSignals();
                      });
}

void Supervisor::onSignal(int number) {
  switch (number) {
    case SIGTERM:
    case SIGINT:
    case SIGQUIT:
      if (phase_ >= Phase::Stopping) return stopAgain();
      budget_ = config_.stop_within.count() == 0
                    ? StopBudget()
                    : StopBudget(std::chrono::steady_clock::now(), config_.stop_within);
      return requestStop("signal", {{"signal", watch::signalName(number)}});
    default:
      // Everything else is the agent's to judge, as under any init.
      if (agent_ > 0) ::kill(agent_, number);
  }
}

void Supervisor::onChildEnded(const watch::Ended& ended) {
  if (ended.pid == agent_) {
    agentEnded(ended);
  } else if (ended.pid == harvest_) {
    harvest_ = -1;
    if (ended.signaled || ended.code != 0)
      base::log(base::Level::Error,
                "the harvest ended with " +
                    (ended.signaled ? watch::signalName(ended.code) : std::to_string(ended.code)));
    harvestEnded();
  } else if (ended.pid == scribe_.pid) {
    serviceEnded("scribe", ended);
  } else if (ended.pid == broker_.pid) {
    serviceEnded("broker", ended);
  } else if (ended.pid == courier_.pid) {
    serviceEnded("courier", ended);
  }
  if (phase_ == Phase::Leftovers) leftoversStep();
}

void Supervisor::serviceEnded(const std::string& name, const watch::Ended& ended) {
  json::object data = {{"stage", name}, {ended.signaled ? "signal" : "code", ended.code}};
  const bool ours =
      phase_ == Phase::Closing || phase_ == Phase::Delivering || phase_ == Phase::Done;
  if (name == "broker") {
    if (pending_broker_) {  // it could not start, and has said why
      auto ready = awaitBroker();
      broker_.pid = -1;
      if (!ready) return setupFailed("broker", ready.error());
    }
    broker_.pid = -1;
    if (phase_ > Phase::Leftovers) return;  // told to end
    data["restarted"] = false;
    record({"stage.lost", data, Durability::Outcome});
    requestStop("broker_lost", {});
  } else if (name == "courier") {
    courier_.pid = -1;
    courier_.link.reset();
    if (phase_ == Phase::Done) return;
    const bool again = courier_starts_ < kMaxCourierStarts;
    data["restarted"] = again;
    if (!ours) record({"stage.lost", data});
    if (again) startCourier();
    if (phase_ == Phase::Delivering) again ? deliver() : finish(false);
  } else {
    scribe_.pid = -1;
    scribe_.link.reset();
    if (phase_ == Phase::Done) return;
    // Without its journal a run proves nothing. `warder run` closes what is on disk.
    spool_lost_ = true;
    base::log(base::Level::Error, "the scribe ended; the run is stopped");
    if (phase_ >= Phase::Harvest) return finish(false);
    requestStop("scribe_lost", {});
  }
}

void Supervisor::onScribe(const json::object& message) {
  if (const auto* stored = message.if_contains("stored")) {
    if (*stored == kStartToken && phase_ == Phase::Starting) startStored();
    if (*stored == kFinishToken && scribe_.link) {
      fold_.setLastSeq(message.at("seq").to_number<std::uint64_t>());
      scribe_.link->send({{"report", fold_.report()}});
    }
  } else if (const auto* authored = message.if_contains("authored")) {
    fold_.add(base::eventFromMessage(authored->as_object()));
    show({{"event", *authored}});
  } else if (message.contains("outputs_closed")) {
    if (phase_ == Phase::Harvest) outputsClosed();
  } else if (message.contains("harvested")) {
    harvested_ = true;
    harvestEnded();
  } else if (message.contains("report_stored")) {
    scribe_.link->send({{"finish", true}});
  } else if (message.contains("finished")) {
    deliver();
  } else if (message.contains("receipt_stored")) {
    finish(true);
  } else if (const auto* trouble = message.if_contains("trouble")) {
    const auto& object = trouble->as_object();
    const std::string sentence(object.at("sentence").as_string());
    base::log(base::Level::Error, "the spool cannot be written: " + sentence);
    if (spool_lost_) return;
    spool_lost_ = true;
    record({"spool.trouble", object, Durability::Outcome});
    phase_ >= Phase::Harvest ? finish(false) : requestStop("spool_trouble", {});
  }
}

void Supervisor::onBroker(const json::object& message) {
  if (const auto* secret = message.if_contains("renew"); secret != nullptr && sources_)
    return sources_->renew(std::string(secret->as_string()));
  const auto* event = message.if_contains("event");
  if (event == nullptr) return;
  Event told = base::eventFromMessage(event->as_object());
  const bool of_secrets = told.type.starts_with("broker.secret_");
  if (start_ && !of_secrets) start_->stop();  // it has called somebody
  record(std::move(told));
}

void Supervisor::onCourier(const json::object& message) {
  if (const auto* event = message.if_contains("event")) {
    // The journal is closed once the outcome is in it; later trouble is for the log.
    Event told = base::eventFromMessage(event->as_object());
    if (phase_ < Phase::Closing) return record(std::move(told));
    show({{"event", *event}});
  } else if (const auto* delivered = message.if_contains("delivered")) {
    if (!scribe_.link) return finish(true);
    scribe_.link->send({{"receipt", *delivered}});
  } else if (const auto* gave_up = message.if_contains("gave_up")) {
    base::log(base::Level::Warn,
              "not delivered: " + std::string(gave_up->as_object().at("sentence").as_string()));
    finish(false);
  }
}

Supervisor::Service Supervisor::adopt(launch::StartedStage stage, Handler handler) {
  StageLink::Handlers handlers;
  handlers.message = [this, handler](const json::object& message) { (this->*handler)(message); };
  handlers.closed = [] {};  // the reaper tells when the process is gone
  return {stage.pid, std::make_unique<StageLink>(context_, std::move(stage.control), handlers)};
}

std::vector<pid_t> Supervisor::ownStages() const {
  std::vector<pid_t> stages = {scribe_.pid,
                               broker_.pid,
                               courier_.pid,
                               harvest_,
                               program_ ? program_->stage() : -1,
                               pending_network_ ? pending_network_->pid : -1};
  if (!sources_) return stages;
  for (const pid_t stage : sources_->stages()) stages.push_back(stage);
  return stages;
}

void Supervisor::after(std::chrono::milliseconds delay, std::function<void()> action) {
  step_.expires_after(delay);
  step_.async_wait([action = std::move(action)](const boost::system::error_code& failure) {
    if (!failure) action();
  });
}

}  // namespace warder::init
