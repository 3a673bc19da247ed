#include "secrets/broker.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

#include "secrets/secret_check.h"
#include "secrets/session.h"
#include "supervisor/base/log.h"

namespace warder::secrets {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::Error;
using base::Kind;
using base::Status;
using boost::system::error_code;

struct Broker::State : std::enable_shared_from_this<State> {
  State(asio::any_io_executor where, Options given)
      : executor(std::move(where)),
        options(std::move(given)),
        gate(options.emit),
        emit([this](base::Event event) { pass(std::move(event)); }),
        release_timer(executor) {}

  asio::any_io_executor executor;
  Options options;
  EventGate gate;
  base::Emit emit;  // through the gate: what doors emit by
  asio::steady_timer release_timer;
  bool release_planned = false;
  std::list<Door> doors;  // addresses stay
  std::list<tcp::acceptor> acceptors;
  std::size_t serving = 0;
  std::size_t refusing = 0;

  void pass(base::Event event) {
    gate.pass(std::move(event), EventGate::Clock::now());
    planRelease();
  }

  /// What the gate keeps is told when its second is over, also when nothing more happens.
  void planRelease() {
    if (release_planned || !gate.holds()) return;
    release_planned = true;
    release_timer.expires_after(kRefusalWindow);
    release_timer.async_wait([self = shared_from_this()](error_code failure) {
      self->release_planned = false;
      if (failure) return;
      self->gate.release(EventGate::Clock::now());
      self->planRelease();
    });
  }

  void take(tcp::socket socket, const Door* door) {
    auto connection = net::plainConnection(std::move(socket));
    const bool full = serving >= options.limits.connections;
    if (full && refusing >= options.limits.refused_connections) return;
    std::size_t State::*const count = full ? &State::refusing : &State::serving;
    ++(this->*count);
    auto over = [self = shared_from_this(), count](const std::exception_ptr& problem) {
      --((*self).*count);
      if (problem) self->logProblem(problem);
    };
    auto work = full ? refuseConnection(std::move(connection), door)
                     : serveConnection(std::move(connection), door);
    asio::co_spawn(executor, std::move(work), std::move(over));
  }

  void logProblem(const std::exception_ptr& problem) const {
    try {
      std::rethrow_exception(problem);
    } catch (const std::exception& e) {
      std::string text = std::string("a connection ended by an error of ours: ") + e.what();
      gate.clean(text);
      base::log(base::Level::Error, text);
    }
  }
};

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

base::Result<tcp::acceptor> acceptorOf(const asio::any_io_executor& executor, base::UniqueFd fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return base::kernelError("a door is no socket");
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6)
    return Error{Kind::Internal, "a door is no TCP socket"};
  const tcp protocol = address.ss_family == AF_INET ? tcp::v4() : tcp::v6();
  tcp::acceptor acceptor(executor);
  error_code failure;
  acceptor.assign(protocol, fd.get(), failure);
  if (failure) return base::kernelError("cannot serve a door", failure.value());
  fd.release();
  return acceptor;
}

}  // namespace

Broker::Broker(asio::any_io_executor executor, Options options)
    : state_(std::make_shared<State>(std::move(executor), std::move(options))) {}

Broker::~Broker() {
  for (auto& acceptor : state_->acceptors) {
    error_code ignored;
    acceptor.close(ignored);
  }
  state_->release_timer.cancel();
}

void Broker::tellKept() {
  state_->gate.release(EventGate::Clock::time_point::max());
}

namespace {

/// Accepts until the acceptor is closed. Out of descriptors: waits a little and goes on.
template <class StatePointer>
asio::awaitable<void> acceptAll(StatePointer state, tcp::acceptor* acceptor, const Door* door) {
  asio::steady_timer pause(state->executor);
  for (;;) {
    auto [failure, socket] = co_await acceptor->async_accept(kAwait);
    if (!failure) {
      state->take(std::move(socket), door);
      continue;
    }
    if (failure == asio::error::operation_aborted || !acceptor->is_open()) co_return;
    pause.expires_after(std::chrono::milliseconds(50));
    co_await pause.async_wait(kAwait);
  }
}

}  // namespace

Status Broker::addDoor(Grant grant, vault::SecretBytes secret) {
  std::vector<base::UniqueFd> listeners;
  for (const int fd : grant.listener_fds) listeners.emplace_back(fd);
  auto provider = models::providerNamed(grant.provider);
  if (!provider) return provider.error();
  if (auto fine = checkKind(secret, grant.name, *provider); !fine) return fine.error();
  auto credential = vault::InjectedHeader::make(provider->inject_header, secret);
  if (!credential) return credential.error();
  const Door& door = state_->doors.emplace_back(
      Door{std::move(grant), std::move(*provider), std::move(*credential), state_->options.policy,
           state_->options.limits, state_->emit, state_->gate});
  state_->gate.hide(door.credential.secret(), door.grant.placeholder);
  for (auto& listener : listeners) {
    auto acceptor = acceptorOf(state_->executor, std::move(listener));
    if (!acceptor) return acceptor.error();
    tcp::acceptor& kept = state_->acceptors.emplace_back(std::move(*acceptor));
    asio::co_spawn(state_->executor, acceptAll(state_, &kept, &door), asio::detached);
  }
  return {};
}

}  // namespace warder::secrets
