#include "supervisor/courier/courier.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "supervisor/base/event.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/courier/delivery.h"

namespace warder::courier {

namespace asio = boost::asio;

namespace {

/// One collector of the run and how far it is.
struct Route {
  std::string url;
  std::unique_ptr<Delivery> delivery;
  std::uint64_t acked = 0;
  std::optional<json::object> receipt;
};

class Courier {
 public:
  explicit Courier(asio::io_context& io) : io_(io), control_(io, base::kControlFd) {}

  /// Errors: Config for sinks and tokens that cannot be used.
  base::Status prepare(const json::object& config) {
    DeliveryOrder order;
    order.run_dir = std::string(config.at("run_dir").as_string());
    order.run_id = std::string(config.at("run_id").as_string());
    order.attempt = config.at("attempt").to_number<std::uint32_t>();
    for (const json::value& sink : config.at("sinks").as_array())
      if (auto added = addRoute(order, sink.as_object()); !added) return added.error();
    if (routes_.empty()) return base::Error{base::Kind::Config, "there is no collector"};
    return {};
  }

  void start() {
    for (auto& route : routes_) {
      auto running = route->delivery->run();
      auto ended = [this, at = route.get()](std::exception_ptr failure,
                                            base::Result<json::object> result) {
        if (failure) result = base::Error{base::Kind::Internal, "the delivery failed"};
        onEnd(*at, result);
      };
      asio::co_spawn(io_, std::move(running), std::move(ended));
    }
    listen();
  }

 private:
  base::Status addRoute(DeliveryOrder order, const json::object& config) {
    auto route = std::make_unique<Route>();
    Route* at = route.get();
    route->url = std::string(config.at("collector").as_string());
    std::string ca_file;
    if (const json::value* named = config.if_contains("ca_file"); named && named->is_string())
      ca_file = std::string(named->get_string());
    auto token = readToken(base::UniqueFd(config.at("token_fd").to_number<int>()));
    if (!token) return token.error().during(route->url);
    auto sink = parseSink(route->url, ca_file);
    if (!sink) return sink.error();
    order.sink = std::move(*sink);
    DeliveryNews news;
    news.acked = [this, at](std::uint64_t seq) { onAcked(*at, seq); };
    news.reachable = [this, at](bool up, const std::string& sentence) {
      base::log(up ? base::Level::Info : base::Level::Warn, sentence);
      base::Event event;
      event.type = up ? "delivery.up" : "delivery.down";
      event.data = {{"sink", at->url}, {"sentence", sentence}};
      say({{"event", base::toMessage(event)}});
    };
    route->delivery = std::make_unique<Delivery>(io_.get_executor(), std::move(order),
                                                 std::move(*token), std::move(news));
    routes_.push_back(std::move(route));
    return {};
  }

  void say(const json::object& message) {
    auto sent = base::sendMessage(base::kControlFd, message);
    if (!sent && sent.error().system_errno == EAGAIN) {
      pollfd room{base::kControlFd, POLLOUT, 0};
      ::poll(&room, 1, 5000);
      sent = base::sendMessage(base::kControlFd, message);
    }
    if (!sent) base::log(base::Level::Warn, sent.error().sentence());
  }

  void onAcked(Route& route, std::uint64_t seq) {
    route.acked = seq;
    std::uint64_t everywhere = seq;
    for (const auto& each : routes_) everywhere = std::min(everywhere, each->acked);
    if (everywhere <= told_) return;
    told_ = everywhere;
    say({{"acked", told_}});
  }

  void onEnd(Route& route, const base::Result<json::object>& result) {
    ++ended_;
    if (result) {
      route.receipt = *result;
      (*route.receipt)["collector"] = route.url;
    } else {
      trouble_ += (trouble_.empty() ? "" : "; ") + result.error().sentence();
    }
    if (ended_ < routes_.size()) return;
    if (!trouble_.empty()) {
      say({{"gave_up", {{"sentence", trouble_}}}});
    } else {
      json::object delivered = std::move(*routes_.front()->receipt);
      json::array also;
      for (std::size_t i = 1; i < routes_.size(); ++i) also.push_back(*routes_[i]->receipt);
      if (!also.empty()) delivered["also"] = std::move(also);
      say({{"delivered", std::move(delivered)}});
    }
    control_.cancel();  // nothing else is pending: the loop ends
  }

  void listen() {
    control_.async_wait(asio::posix::descriptor_base::wait_read,
                        [this](boost::system::error_code failure) {
                          if (!failure) onControl();
                        });
  }

  void onControl() {
    auto message = base::receiveMessage(base::kControlFd);
    const bool nothing_yet = !message && message.error().system_errno == EAGAIN;
    // Without init there is no run any more; what is undelivered stays in the spool. Deliveries
    // are under way and have nothing to save, so nothing is unwound.
    if (!nothing_yet && (!message || !*message)) ::_exit(0);
    if (!nothing_yet) {
      const json::value* finishing = (*message)->body.if_contains("finishing");
      if (finishing != nullptr) {
        const auto within = finishing->at("deadline_ms").to_number<std::int64_t>();
        for (auto& route : routes_) route->delivery->finish(std::chrono::milliseconds(within));
      }
    }
    listen();
  }

  asio::io_context& io_;
  asio::posix::stream_descriptor control_;
  std::vector<std::unique_ptr<Route>> routes_;
  std::size_t ended_ = 0;
  std::uint64_t told_ = 0;
  std::string trouble_;
};

int failed(std::string_view step, const base::Error& error) {
  base::log(base::Level::Error, error.sentence());
  (void)base::sayFailed(base::kControlFd, step, error);
  return 1;
}

int runStage() {
  if (auto hardened = base::hardenStage(); !hardened) return failed("harden", hardened.error());
  auto config = base::readStageConfig();
  if (!config) return failed("configuration", config.error());
  asio::io_context io(1);
  Courier courier(io);
  if (auto ready = courier.prepare(*config); !ready) return failed("sinks", ready.error());
  if (auto said = base::sayReady(base::kControlFd); !said) return failed("ready", said.error());
  courier.start();
  io.run();
  return 0;
}

}  // namespace

int courierMain() {
  ::signal(SIGPIPE, SIG_IGN);
  try {
    return runStage();
  } catch (const std::exception& failure) {
    return failed("courier", base::Error{base::Kind::Internal, failure.what()});
  }
}

}  // namespace warder::courier
