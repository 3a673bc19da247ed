#include "secrets/broker.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

#include "secrets/host_door.h"
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

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

enum class DoorKind { BaseUrl, Transparent, Proxy };

struct Door {
  DoorKind kind = DoorKind::BaseUrl;
  std::shared_ptr<Lease> lease;  // of a base-URL door
  tcp::acceptor acceptor;
};

/// A Unix socket is served as if it were TCP: what is done with an accepted one is the same.
base::Result<tcp::acceptor> acceptorOf(const asio::any_io_executor& executor, base::UniqueFd fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return base::kernelError("a door is no socket");
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6 && address.ss_family != AF_UNIX)
    return Error{Kind::Internal, "a door is no stream socket"};
  const tcp protocol = address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
  tcp::acceptor acceptor(executor);
  error_code failure;
  acceptor.assign(protocol, fd.get(), failure);
  if (failure) return base::kernelError("cannot serve a door", failure.value());
  fd.release();
  return acceptor;
}

}  // namespace

struct Broker::State : std::enable_shared_from_this<State> {
  State(asio::any_io_executor where, Options given)
      : executor(std::move(where)),
        run_id(std::move(given.run_id)),
        gate(std::move(given.emit)),
        release_timer(executor) {
    Rules rules{std::move(given.policy), {}, {}, given.shared_network};
    if (auto all = models::allProviders()) rules.providers = std::move(*all);
    auto through_gate = [this](base::Event event) { pass(std::move(event)); };
    shared = std::make_shared<Shared>(
        Shared{std::move(rules), given.limits, through_gate, gate, {}, {}, {}, {}});
    renewals = std::make_shared<Renewals>(executor, shared, std::move(given.ask_source));
    shared->rejected = [kept = std::weak_ptr(renewals)](const Lease& lease) {
      if (const auto here = kept.lock()) here->rejected(lease);
    };
  }

  asio::any_io_executor executor;
  std::string run_id;
  EventGate gate;
  asio::steady_timer release_timer;
  bool release_planned = false;
  std::shared_ptr<Shared> shared;
  std::shared_ptr<Renewals> renewals;
  std::list<Door> doors;  // addresses stay
  std::shared_ptr<dns::Stub> name_server;
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

  void take(tcp::socket socket, const Door& door) {
    const bool full = serving >= shared->limits.connections;
    if (full && (refusing >= shared->limits.refused_connections || door.kind != DoorKind::BaseUrl))
      return;
    std::size_t State::*const count = full ? &State::refusing : &State::serving;
    ++(this->*count);
    auto over = [self = shared_from_this(), count](const std::exception_ptr& problem) {
      --((*self).*count);
      if (problem) self->logProblem(problem);
    };
    asio::co_spawn(executor, serve(std::move(socket), &door, full), std::move(over));
  }

  asio::awaitable<void> serve(tcp::socket socket, const Door* door, bool full) {
    if (door->kind == DoorKind::Transparent)
      return serveTransparent(shared, std::move(socket), name_server);
    if (door->kind == DoorKind::Proxy) return serveProxy(shared, std::move(socket));
    Approach approach{Approach::Kind::BaseUrl, door->lease, door->lease->to};
    auto connection = net::plainConnection(std::move(socket));
    return full ? refuseConnection(shared, std::move(connection), std::move(approach))
                : serveHttp(shared, std::move(connection), std::move(approach));
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

  Status openDoor(DoorKind kind, std::shared_ptr<Lease> lease, base::UniqueFd listener);
  Status openNames(const DoorFds& fds);
};

namespace {

/// Accepts until the acceptor is closed. Out of descriptors: waits a little and goes on.
template <class StatePointer>
asio::awaitable<void> acceptAll(StatePointer state, Door* door) {
  asio::steady_timer pause(state->executor);
  for (;;) {
    auto [failure, socket] = co_await door->acceptor.async_accept(kAwait);
    if (!failure) {
      state->take(std::move(socket), *door);
      continue;
    }
    if (failure == asio::error::operation_aborted || !door->acceptor.is_open()) co_return;
    pause.expires_after(std::chrono::milliseconds(50));
    co_await pause.async_wait(kAwait);
  }
}

}  // namespace

Status Broker::State::openDoor(DoorKind kind, std::shared_ptr<Lease> lease,
                               base::UniqueFd listener) {
  auto acceptor = acceptorOf(executor, std::move(listener));
  if (!acceptor) return acceptor.error();
  Door& door = doors.emplace_back(Door{kind, std::move(lease), std::move(*acceptor)});
  asio::co_spawn(executor, acceptAll(shared_from_this(), &door), asio::detached);
  return {};
}

Status Broker::State::openNames(const DoorFds& fds) {
  dns::Stub::Options options;
  // The policy outlives the name server: both are this state's.
  options.allowed = [kept = shared](std::string_view name) {
    return policies::mayResolve(kept->rules.policy, name);
  };
  options.table = shared->names;
  options.emit = shared->emit;
  name_server = std::make_shared<dns::Stub>(executor, std::move(options));
  for (const int fd : fds.dns_udp)
    if (auto served = name_server->serveUdp(base::UniqueFd(fd)); !served) return served;
  for (const int fd : fds.dns_tcp)
    if (auto served = name_server->serveTcp(base::UniqueFd(fd)); !served) return served;
  return {};
}

Broker::Broker(asio::any_io_executor executor, Options options)
    : state_(std::make_shared<State>(std::move(executor), std::move(options))) {}

Broker::~Broker() {
  for (Door& door : state_->doors) {
    error_code ignored;
    door.acceptor.close(ignored);
  }
  state_->name_server.reset();
  state_->shared->pool.clear();
  state_->release_timer.cancel();
  state_->renewals->stop();
}

void Broker::tellKept() {
  if (state_->name_server) state_->name_server->tellCounts();
  state_->gate.release(EventGate::Clock::time_point::max());
}

std::string Broker::authorityPem() const {
  return state_->shared->authority ? state_->shared->authority->pem() : std::string();
}

Renewals& Broker::renewals() {
  return *state_->renewals;
}

Status Broker::addGrant(Grant grant, vault::SecretBytes secret) {
  return addGrant(std::move(grant), SourcedSecret{std::move(secret), std::nullopt}, nullptr);
}

Status Broker::addGrant(Grant grant, SourcedSecret sourced,
                        std::shared_ptr<const vault::SecretBytes> token) {
  std::vector<base::UniqueFd> listeners;
  for (const int fd : grant.listener_fds) listeners.emplace_back(fd);
  if (grant.unix_fd >= 0) listeners.emplace_back(grant.unix_fd);
  auto leases = makeLeases(grant, sourced.secret);
  if (!leases) return leases.error();
  for (const auto& lease : *leases) {
    state_->shared->rules.leases.push_back(lease);
    for (const std::string_view hidden : lease->secret->credential.hidden())
      state_->gate.hide(lease->secret, hidden, lease->grant->placeholder);
  }
  state_->renewals->add({*leases, sourced.expires_at, std::move(token)});
  for (auto& listener : listeners)
    if (auto open = state_->openDoor(DoorKind::BaseUrl, leases->front(), std::move(listener));
        !open)
      return open;
  return {};
}

Status Broker::openDoors(const DoorFds& fds) {
  if (fds.transparent.empty() && fds.proxy.empty() && fds.dns_udp.empty() && fds.dns_tcp.empty())
    return {};
  auto authority = ca::RunAuthority::make(state_->run_id);
  if (!authority) return authority.error();
  state_->shared->authority = std::make_shared<ca::RunAuthority>(std::move(*authority));
  state_->shared->names = std::make_shared<dns::NameTable>();
  if (auto open = state_->openNames(fds); !open) return open;
  for (const int fd : fds.transparent)
    if (auto open = state_->openDoor(DoorKind::Transparent, nullptr, base::UniqueFd(fd)); !open)
      return open;
  for (const int fd : fds.proxy)
    if (auto open = state_->openDoor(DoorKind::Proxy, nullptr, base::UniqueFd(fd)); !open)
      return open;
  return {};
}

}  // namespace warder::secrets
