#include "secrets/dns/stub.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <list>
#include <string>

#include "secrets/dns/datagram.h"
#include "secrets/dns/name_server.h"
#include "supervisor/base/log.h"

namespace warder::dns {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using base::Error;
using base::Kind;
using base::Status;
using boost::system::error_code;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPiece = 4'096;
constexpr std::size_t kHeader = 12;
constexpr std::chrono::milliseconds kAcceptPause{50};

struct Connection {
  explicit Connection(tcp::socket given) : socket(std::move(given)), idle(socket.get_executor()) {}

  tcp::socket socket;
  asio::steady_timer idle;
  std::string inbox;
  std::string outbox;
};

using Connections = std::list<std::shared_ptr<Connection>>;

/// From now on the connection has `limit` for its next step.
void watch(const std::shared_ptr<Connection>& connection, std::chrono::milliseconds limit) {
  connection->idle.expires_after(limit);
  connection->idle.async_wait([weak = std::weak_ptr(connection)](error_code failure) {
    const auto watched = weak.lock();
    // A handler that was queued when the time was set anew comes too early.
    if (failure || !watched || watched->idle.expiry() > asio::steady_timer::clock_type::now())
      return;
    error_code ignored;
    watched->socket.close(ignored);
  });
}

/// Takes whole questions off the inbox and puts their answers into the outbox. False: what was sent
/// is no question, and nothing more is read.
bool answerInbox(Connection& connection, NameServer& server) {
  std::string_view rest = connection.inbox;
  const auto byteAt = [&rest](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(rest[at]));
  };
  bool readable = true;
  while (readable && rest.size() >= 2) {
    const std::size_t length = byteAt(0) << 8 | byteAt(1);
    const bool is_long = length > kLongestQuery;
    const std::size_t needed = is_long ? kHeader : length;  // a header alone is answered FORMERR
    if (rest.size() - 2 < needed) break;
    const auto answer = server.answer(rest.substr(2, needed), Transport::Tcp);
    rest.remove_prefix(2 + needed);
    if (answer) {
      connection.outbox += static_cast<char>(answer->size() >> 8);
      connection.outbox += static_cast<char>(answer->size() & 0xff);
      connection.outbox += *answer;
    }
    readable = answer && !is_long;
  }
  connection.inbox.erase(0, connection.inbox.size() - rest.size());
  return readable;
}

}  // namespace

struct Stub::State : std::enable_shared_from_this<State> {
  State(asio::any_io_executor where, Options given)
      : executor(std::move(where)),
        limits(given.limits),
        emit(given.emit),
        server({std::move(given.allowed), std::move(given.table), std::move(given.emit),
                given.ipv6}) {}

  asio::any_io_executor executor;
  StubLimits limits;
  base::Emit emit;
  NameServer server;
  std::list<tcp::acceptor> acceptors;
  std::list<udp::socket> udp_sockets;
  Connections connections;
  std::uint64_t connections_refused = 0;

  /// False when there are as many as there may be.
  bool admit(const std::shared_ptr<Connection>& connection) {
    if (connections.size() >= limits.tcp_connections) {
      ++connections_refused;
      return false;
    }
    connections.push_back(connection);
    return true;
  }

  void close() {
    error_code ignored;
    for (auto& acceptor : acceptors) acceptor.close(ignored);
    for (auto& socket : udp_sockets) socket.close(ignored);
    for (auto& connection : connections) {
      connection->idle.cancel();
      connection->socket.close(ignored);
    }
  }

  void answerAll(udp::socket& socket) {
    try {
      answerDatagrams(socket.native_handle(), [this](std::string_view question) {
        return server.answer(question, Transport::Udp);
      });
    } catch (const std::exception& problem) {
      base::log(base::Level::Error, std::string("a question was not answered: ") + problem.what());
    }
  }
};

namespace {

/// Leaves the list when the coroutine ends, however it does.
class Seat {
 public:
  Seat(Connections& all, std::shared_ptr<Connection> mine) : all_(all), mine_(std::move(mine)) {}
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat() {
    mine_->idle.cancel();
    all_.remove(mine_);
  }

 private:
  Connections& all_;
  std::shared_ptr<Connection> mine_;
};

template <class StatePointer>
asio::awaitable<void> serveConnection(StatePointer state, std::shared_ptr<Connection> connection) {
  if (!state->admit(connection)) co_return;
  const Seat seat(state->connections, connection);
  std::array<char, kPiece> piece;
  watch(connection, state->limits.tcp_idle);
  bool readable = true;
  while (readable) {
    auto [failure, count] =
        co_await connection->socket.async_read_some(asio::buffer(piece), kAwait);
    if (failure) co_return;
    connection->inbox.append(piece.data(), count);
    readable = answerInbox(*connection, state->server);
    if (connection->outbox.empty()) continue;
    // Only answers count as progress: a question that comes byte by byte has one limit.
    watch(connection, state->limits.tcp_idle);
    auto [broken, written] =
        co_await asio::async_write(connection->socket, asio::buffer(connection->outbox), kAwait);
    if (broken) co_return;
    connection->outbox.clear();
    watch(connection, state->limits.tcp_idle);
  }
}

/// Accepts until the acceptor is closed. Out of descriptors: waits a little and goes on.
template <class StatePointer>
asio::awaitable<void> acceptAll(StatePointer state, tcp::acceptor* acceptor) {
  asio::steady_timer pause(state->executor);
  for (;;) {
    auto [failure, socket] = co_await acceptor->async_accept(kAwait);
    if (!acceptor->is_open()) co_return;
    if (!failure) {
      auto connection = std::make_shared<Connection>(std::move(socket));
      auto serving = serveConnection(state, std::move(connection));
      asio::co_spawn(state->executor, std::move(serving), asio::detached);
      continue;
    }
    pause.expires_after(kAcceptPause);
    co_await pause.async_wait(kAwait);
  }
}

template <class StatePointer>
asio::awaitable<void> answerUdp(StatePointer state, udp::socket* socket) {
  while (socket->is_open()) {
    auto [failure] = co_await socket->async_wait(udp::socket::wait_read, kAwait);
    if (failure) co_return;
    state->answerAll(*socket);
  }
}

base::Result<int> familyOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return base::kernelError("a socket of the name server is none");
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6)
    return Error{Kind::Internal, "a socket of the name server is of another kind"};
  return address.ss_family;
}

}  // namespace

Stub::Stub(asio::any_io_executor executor, Options options)
    : state_(std::make_shared<State>(std::move(executor), std::move(options))) {}

Stub::~Stub() {
  state_->close();
}

Status Stub::serveUdp(base::UniqueFd socket) {
  if (auto ready = prepareDatagrams(socket.get()); !ready) return ready.error();
  auto family = familyOf(socket.get());
  if (!family) return family.error();
  udp::socket& kept = state_->udp_sockets.emplace_back(state_->executor);
  error_code failure;
  kept.assign(*family == AF_INET ? udp::v4() : udp::v6(), socket.get(), failure);
  if (failure) return base::kernelError("cannot serve names over UDP", failure.value());
  socket.release();
  auto answering = answerUdp(state_, &kept);
  asio::co_spawn(state_->executor, std::move(answering), asio::detached);
  return {};
}

Status Stub::serveTcp(base::UniqueFd listener) {
  auto family = familyOf(listener.get());
  if (!family) return family.error();
  tcp::acceptor& kept = state_->acceptors.emplace_back(state_->executor);
  error_code failure;
  kept.assign(*family == AF_INET ? tcp::v4() : tcp::v6(), listener.get(), failure);
  if (failure) return base::kernelError("cannot serve names over TCP", failure.value());
  listener.release();
  auto accepting = acceptAll(state_, &kept);
  asio::co_spawn(state_->executor, std::move(accepting), asio::detached);
  return {};
}

asio::awaitable<void> Stub::serveStream(tcp::socket socket) {
  return serveConnection(state_, std::make_shared<Connection>(std::move(socket)));
}

void Stub::tellCounts() {
  if (!state_->server.wasAsked()) return;
  state_->emit({"dns.summary", state_->server.counts(state_->connections_refused)});
}

}  // namespace warder::dns
