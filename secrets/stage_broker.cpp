// The broker's process: from its configuration to its end.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <exception>

#include "secrets/broker.h"
#include "secrets/broker_config.h"
#include "secrets/confine_broker.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"

namespace warder::secrets {

namespace asio = boost::asio;
using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

Result<BrokerConfig> readConfig() {
  auto object = base::readStageConfig();
  if (!object) return object.error();
  try {
    return brokerConfigFromJson(*object);
  } catch (const std::exception& e) {
    return Error{Kind::Internal,
                 std::string("the broker's configuration is not valid: ") + e.what()};
  }
}

Status lendSecrets(Broker& broker, const std::vector<Grant>& grants) {
  for (const Grant& grant : grants) {
    const base::UniqueFd source(grant.secret_fd);
    auto secret = vault::SecretBytes::read(source.get(), grant.name);
    if (!secret) return secret.error();
    if (auto added = broker.addGrant(grant, std::move(*secret)); !added) return added.error();
  }
  return {};
}

/// A connection takes two descriptors. Source of the hard limit: getrlimit(2).
BrokerLimits limitsOfThisProcess() {
  constexpr rlim_t kOthers = 128;
  BrokerLimits limits;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return limits;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const rlim_t room = files.rlim_cur > kOthers ? (files.rlim_cur - kOthers) / 2 : 1;
  limits.connections = std::min<std::size_t>(limits.connections, room);
  return limits;
}

/// init says nothing on the control socket; that it became readable means that init is gone.
void stopWithInit(asio::io_context& context, asio::posix::stream_descriptor& control) {
  control.async_wait(asio::posix::stream_descriptor::wait_read,
                     [&context, &control](boost::system::error_code failure) {
                       if (failure) return context.stop();
                       auto message = base::receiveMessage(control.native_handle());
                       const bool again =
                           message ? message->has_value() : message.error().system_errno == EAGAIN;
                       if (!again) return context.stop();
                       stopWithInit(context, control);
                     });
}

/// A full socket makes this wait: init reads without pause, and an event must not be lost. That
/// init is gone is noticed elsewhere.
void tell(int control, const base::Event& event) {
  const base::json::object message{{"event", base::toMessage(event)}};
  for (;;) {
    const auto sent = base::sendMessage(control, message);
    if (sent || sent.error().system_errno != EAGAIN) return;
    pollfd writable{control, POLLOUT, 0};
    ::poll(&writable, 1, -1);
  }
}

int serve(int control) {
  const auto failed = [control](const char* step, const Error& error) {
    base::log(base::Level::Error, std::string(step) + ": " + error.sentence());
    (void)base::sayFailed(control, step, error);
    return 1;
  };
  if (auto hardened = base::hardenStage(); !hardened) return failed("harden", hardened.error());
  ::signal(SIGPIPE, SIG_IGN);
  auto config = readConfig();
  if (!config) return failed("configuration", config.error());

  asio::io_context context(1);
  auto emit = [control](const base::Event& event) { tell(control, event); };
  Broker broker(context.get_executor(), {std::move(config->policy), limitsOfThisProcess(), emit,
                                         std::move(config->run_id), config->shared_network});
  if (auto lent = lendSecrets(broker, config->grants); !lent)
    return failed("secrets", lent.error());
  if (auto opened = broker.openDoors(config->doors); !opened)
    return failed("doors", opened.error());
  if (auto confined = confineBroker(); !confined) return failed("confine", confined.error());
  asio::posix::stream_descriptor descriptor(context, control);
  stopWithInit(context, descriptor);
  const base::json::object ready{{"ready", true}, {"ca_pem", broker.authorityPem()}};
  if (auto said = base::sendMessage(control, ready); !said) return 1;
  context.run();
  broker.tellKept();
  return 0;
}

}  // namespace

int brokerMain() {
  base::setUpLog("broker");
  try {
    return serve(base::kControlFd);
  } catch (const std::exception& e) {
    base::log(base::Level::Error, std::string("the broker ends by an error of ours: ") + e.what());
    return 1;
  }
}

}  // namespace warder::secrets
