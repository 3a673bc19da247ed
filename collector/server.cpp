#include "collector/server.h"

#include <signal.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <iostream>
#include <list>

#include "collector/connection.h"
#include "supervisor/base/log.h"

namespace warder::collector {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t kMaxConnections = 512;
constexpr std::size_t kMaxTurnedAway = 64;  // at a time; beyond that they are just closed
constexpr std::chrono::seconds kStopTimeout{10};
constexpr auto kNothrow = asio::as_tuple(asio::use_awaitable);

struct Guest {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Presence> presence;
};

class Server {
 public:
  Server(asio::io_context& io, Store& store, Service& service)
      : io_(io), store_(store), service_(service), acceptor_(io), reaper_(io), deadline_(io) {}

  base::Status listen(const ListenAddress& address, std::shared_ptr<TlsContext> tls) {
    boost::system::error_code failure;
    const tcp::endpoint endpoint(asio::ip::make_address(address.host), address.port);
    acceptor_.open(endpoint.protocol(), failure);
    if (!failure) acceptor_.set_option(tcp::acceptor::reuse_address(true), failure);
    if (!failure) acceptor_.bind(endpoint, failure);
    if (!failure) acceptor_.listen(asio::socket_base::max_listen_connections, failure);
    if (failure)
      return base::kernelError(
          "cannot listen on " + address.host + ":" + std::to_string(address.port), failure.value());
    tls_ = std::move(tls);
    return {};
  }

  std::string boundTo() const {
    const auto endpoint = acceptor_.local_endpoint();
    const std::string host = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
           std::to_string(endpoint.port());
  }

  void start() {
    auto accepting = accept();
    asio::co_spawn(io_, std::move(accepting), asio::detached);
    reap();
  }

  /// No more guests; those between two requests go now, the others after their answer.
  void stop() {
    stopping_ = true;
    acceptor_.close();
    reaper_.cancel();
    for (Guest& guest : guests_) {
      guest.presence->stopping = true;
      if (guest.presence->idle) guest.stream->close();
    }
    deadline_.expires_after(kStopTimeout);
    deadline_.async_wait([this](boost::system::error_code failure) {
      if (failure) return;
      for (Guest& guest : guests_) guest.stream->close();
    });
    if (guests_.empty()) deadline_.cancel();
  }

 private:
  asio::awaitable<void> accept() {
    while (!stopping_) {
      auto [failure, socket] = co_await acceptor_.async_accept(kNothrow);
      if (stopping_) co_return;
      if (failure) {
        // Out of descriptors: wait for some to come back instead of spinning.
        base::log(base::Level::Warn, "cannot accept a connection: " + failure.message());
        asio::steady_timer pause(io_, std::chrono::milliseconds(200));
        co_await pause.async_wait(kNothrow);
        continue;
      }
      admit(std::move(socket));
    }
  }

  void admit(tcp::socket socket) {
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::shared_ptr<Stream> stream =
        tls_ ? tlsStream(std::move(socket), *tls_) : plainStream(std::move(socket));
    if (guests_.size() >= kMaxConnections) {
      if (turned_away_ >= kMaxTurnedAway) return;
      ++turned_away_;
      auto sending_off = turnAway(stream);
      auto gone = [this](std::exception_ptr) { --turned_away_; };
      asio::co_spawn(io_, std::move(sending_off), std::move(gone));
      return;
    }
    const auto guest = guests_.insert(guests_.end(), {stream, std::make_shared<Presence>()});
    auto serving = serveConnection(stream, &service_, guest->presence);
    auto gone = [this, guest](std::exception_ptr) {
      guests_.erase(guest);
      if (stopping_ && guests_.empty()) deadline_.cancel();
    };
    asio::co_spawn(io_, std::move(serving), std::move(gone));
  }

  /// Marks silent boxes, a few times per lease.
  void reap() {
    const auto every = std::chrono::milliseconds(store_.lease()) / 4;
    reaper_.expires_after(
        std::max<std::chrono::milliseconds>(every, std::chrono::milliseconds(200)));
    reaper_.async_wait([this](boost::system::error_code failure) {
      if (failure || stopping_) return;
      const auto lost = store_.markLost(now());
      if (!lost) base::log(base::Level::Error, lost.error().sentence());
      if (lost && *lost > 0)
        base::log(base::Level::Warn, std::to_string(*lost) + " run(s) fell silent: lost");
      reap();
    });
  }

  asio::io_context& io_;
  Store& store_;
  Service& service_;
  tcp::acceptor acceptor_;
  asio::steady_timer reaper_;
  asio::steady_timer deadline_;
  std::shared_ptr<TlsContext> tls_;
  std::list<Guest> guests_;
  std::size_t turned_away_ = 0;
  bool stopping_ = false;
};

base::Status writeAddress(const std::string& path, const std::string& address) {
  const std::string temporary = path + ".new";
  auto file = base::openFile(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (!file) return file.error();
  if (auto written = base::writeAll(file->get(), address + "\n"); !written) return written.error();
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return base::kernelError("cannot write " + path);
  return {};
}

int failed(const base::Error& error) {
  base::log(base::Level::Error, error.sentence());
  return error.kind == base::Kind::Config || error.kind == base::Kind::NotFound ? 2 : 1;
}

struct Prepared {
  ListenAddress address;
  std::chrono::seconds lease{};
  std::optional<Access> access;
  std::shared_ptr<TlsContext> tls;
};

base::Result<Prepared> prepare(const ServeOptions& options) {
  Prepared ready;
  auto address = parseListen(options.listen);
  if (!address) return address.error();
  ready.address = *address;
  auto lease = parseLease(options.lease);
  if (!lease) return lease.error();
  ready.lease = *lease;
  if (auto fault = faultOf(options, ready.address); !fault.empty())
    return base::Error{base::Kind::Config, std::move(fault)};
  auto token = readToken(options.token_file);
  if (!token) return token.error();
  std::optional<std::string> read_token;
  if (!options.read_token_file.empty()) {
    auto read = readToken(options.read_token_file);
    if (!read) return read.error();
    read_token = *read;
  }
  if (read_token == *token)
    return base::Error{base::Kind::Config, "the read token must differ from the ingest token"};
  ready.access.emplace(*token, read_token ? std::optional<std::string_view>(*read_token)
                                          : std::optional<std::string_view>());
  if (!options.tls_cert.empty()) {
    auto tls = makeTlsContext(options.tls_cert, options.tls_key);
    if (!tls) return tls.error();
    ready.tls = *tls;
  }
  return ready;
}

}  // namespace

int serve(const ServeOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  auto ready = prepare(options);
  if (!ready) return failed(ready.error());
  auto store = Store::open(options.data, ready->lease, now());
  if (!store) return failed(store.error());
  ServiceRules rules;
  rules.loopback_only = asio::ip::make_address(ready->address.host).is_loopback();
  asio::io_context io(1);
  Service service(**store, std::move(*ready->access), rules);
  Server server(io, **store, service);
  if (auto listening = server.listen(ready->address, ready->tls); !listening)
    return failed(listening.error());
  const std::string bound = server.boundTo();
  if (!options.address_file.empty())
    if (auto written = writeAddress(options.address_file, bound); !written)
      return failed(written.error());
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&server](boost::system::error_code failure, int) {
    if (!failure) server.stop();
  });
  server.start();
  std::cout << "warder-collector: the page is at " << (ready->tls ? "https://" : "http://") << bound
            << "/" << std::endl;
  io.run();
  base::log(base::Level::Info, "stopped in good order");
  return 0;
}

}  // namespace warder::collector
