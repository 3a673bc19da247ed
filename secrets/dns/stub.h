// The agent's name server on its sockets. Everything runs on one executor and one thread.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "secrets/dns/name_table.h"
#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"

namespace warder::dns {

/// TCP connections at a time; the newest is closed at once, those that are there live on.
inline constexpr std::size_t kMostTcpConnections = 64;
/// A connection that brings no whole question, or takes no answer, for so long is closed. Source:
/// RFC 7766 section 6.2.3 (a few seconds).
inline constexpr std::chrono::milliseconds kTcpIdle{10'000};

struct StubLimits {
  std::size_t tcp_connections = kMostTcpConnections;
  std::chrono::milliseconds tcp_idle = kTcpIdle;
};

class Stub {
 public:
  struct Options {
    /// May the agent know an address of this host? The name is canonical.
    std::function<bool(std::string_view canonical_name)> allowed;
    std::shared_ptr<NameTable> table;
    base::Emit emit;
    StubLimits limits{};
    bool ipv6 = true;  // false: there is no IPv6 in the agent's network, AAAA is NODATA
  };

  Stub(boost::asio::any_io_executor executor, Options options);
  Stub(const Stub&) = delete;
  Stub& operator=(const Stub&) = delete;
  /// Closes all sockets.
  ~Stub();

  /// Serves a bound UDP socket, also one that receives what was sent to any address: the answer
  /// comes from the address that was asked. Sets the socket's options itself. Errors: Internal for
  /// another kind of socket; Kernel.
  base::Status serveUdp(base::UniqueFd socket);
  /// Serves a listening TCP socket. Errors: as serveUdp.
  base::Status serveTcp(base::UniqueFd listener);
  /// Serves one connection until it ends. May outlive the Stub.
  boost::asio::awaitable<void> serveStream(boost::asio::ip::tcp::socket socket);
  /// Emits `dns.summary`, the counts of the run, unless nothing was asked. For the run's end.
  void tellCounts();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace warder::dns
