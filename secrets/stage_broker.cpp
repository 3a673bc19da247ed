// The broker's process: from its configuration to its end.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <exception>

#include "secrets/broker.h"
#include "secrets/broker_config.h"
#include "secrets/confine_broker.h"
#include "secrets/vault_client.h"
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

using Token = std::shared_ptr<const vault::SecretBytes>;

Status lendSecrets(Broker& broker, const std::vector<Grant>& grants) {
  for (const Grant& grant : grants) {
    if (grant.source.kind == GrantSource::Kind::Vault) continue;
    const base::UniqueFd source(grant.secret_fd);
    auto sourced = readSourced(source.get(), grant);
    if (!sourced) return sourced.error();
    if (auto added = broker.addGrant(grant, std::move(*sourced), nullptr); !added)
      return added.error();
  }
  return {};
}

/// Asks for one secret; `over` is set, and `failure` where there is one.
asio::awaitable<void> lendOne(Broker* broker, Grant grant, Token token,
                              std::optional<Error>* over) {
  const auto shared = std::make_shared<const Grant>(grant);
  Result<SourcedSecret> sourced = co_await askVault(shared, token);
  if (!sourced) {
    over->emplace(sourced.error());
    co_return;
  }
  const Status added = broker->addGrant(std::move(grant), std::move(*sourced), token);
  if (!added) over->emplace(added.error());
}

/// All Vaults at once, before the broker says that it is ready.
Status lendFromVaults(asio::io_context& context, Broker& broker, const std::vector<Grant>& grants) {
  std::optional<Error> failure;
  std::size_t left = 0;
  for (const Grant& grant : grants) {
    if (grant.source.kind != GrantSource::Kind::Vault) continue;
    const base::UniqueFd source(grant.secret_fd);
    auto read = vault::SecretBytes::read(source.get(), grant.name + " (the Vault's token)");
    if (!read) return read.error();
    auto token = std::make_shared<const vault::SecretBytes>(std::move(*read));
    ++left;
    auto done = [&left, &failure](const std::exception_ptr& problem) {
      --left;
      if (problem) failure.emplace(Error{Kind::Internal, "a Vault could not be asked"});
    };
    asio::co_spawn(context, lendOne(&broker, grant, std::move(token), &failure), std::move(done));
  }
  while (left > 0) context.run_one();
  return failure ? Status(*failure) : Status();
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

/// What init says: a secret that was read anew, or why it was not, that the agent starts, and that
/// everything is over.
void hear(Broker& broker, base::Message message) {
  const auto textAt = [](const base::json::object& object, std::string_view key) {
    const base::json::value* text = object.if_contains(key);
    return text != nullptr && text->is_string() ? std::string(text->get_string()) : std::string();
  };
  const base::json::object& body = message.body;
  if (body.contains("agent_started")) broker.renewals().agentStarted();
  if (body.contains("revoke")) broker.renewals().revokeAll();
  if (body.contains("secret") && !message.fds.empty())
    broker.renewals().handed(textAt(body, "secret"), std::move(message.fds.front()));
  if (body.contains("not_renewed"))
    broker.renewals().failed(textAt(body, "not_renewed"), textAt(body, "sentence"));
}

/// That init's end of the control socket is closed means that init is gone, or done with us.
void listenToInit(asio::io_context& context, asio::posix::stream_descriptor& control,
                  Broker& broker) {
  control.async_wait(asio::posix::stream_descriptor::wait_read,
                     [&](boost::system::error_code failure) {
                       if (failure) return context.stop();
                       auto message = base::receiveMessage(control.native_handle());
                       if (!message && message.error().system_errno != EAGAIN)
                         return context.stop();
                       if (message && !*message) return context.stop();
                       if (message) hear(broker, std::move(**message));
                       listenToInit(context, control, broker);
                     });
}

/// A full socket makes this wait: init reads without pause, and an event must not be lost. That
/// init is gone is noticed elsewhere.
void tell(int control, const base::json::object& message) {
  for (;;) {
    const auto sent = base::sendMessage(control, message);
    if (sent || sent.error().system_errno != EAGAIN) return;
    pollfd writable{control, POLLOUT, 0};
    ::poll(&writable, 1, -1);
  }
}

int serve(int control) {
  const auto failed = [control](const char* step, const Error& error) {
    // init tells it; once is enough.
    if (!base::sayFailed(control, step, error))
      base::log(base::Level::Error, std::string(step) + ": " + error.sentence());
    return 1;
  };
  if (auto hardened = base::hardenStage(); !hardened) return failed("harden", hardened.error());
  ::signal(SIGPIPE, SIG_IGN);
  auto config = readConfig();
  if (!config) return failed("configuration", config.error());

  asio::io_context context(1);
  auto emit = [control](const base::Event& event) {
    tell(control, {{"event", base::toMessage(event)}});
  };
  auto ask = [control](const std::string& grant) { tell(control, {{"renew", grant}}); };
  Broker broker(context.get_executor(), {std::move(config->policy), limitsOfThisProcess(), emit,
                                         std::move(config->run_id), config->shared_network, ask});
  if (auto lent = lendSecrets(broker, config->grants); !lent)
    return failed("secrets", lent.error());
  if (auto opened = broker.openDoors(config->doors); !opened)
    return failed("doors", opened.error());
  if (auto confined = confineBroker(); !confined) return failed("confine", confined.error());
  if (auto lent = lendFromVaults(context, broker, config->grants); !lent)
    return failed("secrets", lent.error());
  asio::posix::stream_descriptor descriptor(context, control);
  listenToInit(context, descriptor, broker);
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
