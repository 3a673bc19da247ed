#include "secrets/host_door.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "secrets/answers.h"
#include "secrets/ca/accept_tls.h"
#include "secrets/ca/client_hello.h"
#include "secrets/decision.h"
#include "secrets/host_field.h"
#include "secrets/opening.h"
#include "secrets/session.h"
#include "secrets/tunnel.h"
#include "supervisor/net/dial.h"

namespace warder::secrets {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint16_t kDnsPort = 53;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

/// A connection whose destination is known.
struct Crossing {
  std::shared_ptr<Shared> shared;
  tcp::socket socket;
  std::string early;  // read from it already
  HostAndPort to;
  policies::Access access;
};

void abortSocket(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

Upstream upstreamOf(const HostAndPort& to, bool tls) {
  Upstream upstream;
  upstream.tls = tls;
  upstream.host = to.host;
  upstream.port = to.port;
  return upstream;
}

Refusal denial(const Crossing& crossing, std::string why, std::string reason) {
  Refusal refusal;
  refusal.why = std::move(why);
  refusal.rule = crossing.access.rule;
  refusal.sentence = "Warder does not let this connection through: " + std::move(reason);
  return refusal;
}

Refusal deniedByPolicy(const Crossing& crossing) {
  return denial(
      crossing, "policy",
      crossing.access.reason + ". Do not try again; ask whoever wrote the job to allow it");
}

void emitDenied(const Crossing& crossing, const Refusal& refusal) {
  crossing.shared->emit({"broker.denied",
                         {{"grant", ""},
                          {"host", crossing.to.host},
                          {"port", crossing.to.port},
                          {"why", refusal.why},
                          {"rule", refusal.rule},
                          {"reason", refusal.sentence}}});
}

std::int64_t millisecondsSince(Clock::time_point from) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - from).count();
}

/// Bytes that nobody reads, to the host that a rule opened for them.
asio::awaitable<void> passThrough(Crossing crossing, policies::Flow flow) {
  Shared& shared = *crossing.shared;
  const HostAndPort to = crossing.to;
  net::Endpoint endpoint{false, to.host, to.port, {}};
  net::DialRules rules;
  rules.private_addresses = policies::namesHost(shared.rules.policy, to.host, to.port);
  rules.timeout = shared.limits.dial;
  base::json::object data{{"host", to.host},
                          {"port", to.port},
                          {"flow", policies::nameOf(flow)},
                          {"rule", crossing.access.rule}};
  net::Dialled dialled = co_await net::dial(std::move(endpoint), rules);
  if (!dialled) {
    data["grant"] = "";
    data["why"] = net::nameOf(dialled.error().why);
    data["sentence"] = dialled.error().sentence;
    shared.emit({"broker.upstream_failed", std::move(data)});
    abortSocket(crossing.socket);
    co_return;
  }
  shared.emit({"broker.tunnel_opened", data});
  const auto began = Clock::now();
  auto client = net::plainConnection(std::move(crossing.socket));
  client->setIdleLimit(shared.limits.upstream_idle);
  (*dialled)->setIdleLimit(shared.limits.upstream_idle);
  Relay relay{*client, **dialled, std::move(crossing.early), {}};
  co_await relayBothWays(relay);
  data["request_bytes"] = relay.bytes_to_upstream;
  data["response_bytes"] = relay.bytes_to_client;
  data["duration_ms"] = millisecondsSince(began);
  data["ended"] = relay.timed_out ? "idle" : "complete";
  shared.emit({"broker.tunnel_closed", std::move(data)});
}

/// The host that was dialled and the host that TLS asks for must be one (domain fronting).
std::optional<Refusal> judgeHello(const Crossing& crossing, const ca::ClientHello& hello) {
  if (!crossing.access.any()) return deniedByPolicy(crossing);
  if (!crossing.access.http_over_tls && !crossing.access.tunnel)
    return denial(crossing, "policy",
                  "TLS to " + crossing.to.host + " is not allowed by the rule for this port (" +
                      crossing.access.reason + ")");
  const std::string asked = policies::canonicalHost(hello.sni);
  boost::system::error_code no_literal;
  asio::ip::make_address(crossing.to.host, no_literal);
  if (!hello.has_sni && !no_literal) return std::nullopt;
  if (hello.has_sni && asked == crossing.to.host) return std::nullopt;
  return denial(crossing, "host_mismatch",
                hello.has_sni
                    ? "it was made to " + crossing.to.host + " and asks for another name (SNI)"
                    : "TLS to " + crossing.to.host + " must name it (SNI)");
}

asio::awaitable<void> serveTls(Crossing crossing, ca::ClientHello hello) {
  auto refusal = judgeHello(crossing, hello);
  if (refusal) emitDenied(crossing, *refusal);
  if (!refusal && crossing.access.tunnel) {
    co_await passThrough(std::move(crossing), policies::Flow::Tunnel);
    co_return;
  }
  Shared& shared = *crossing.shared;
  // A program reads why it was denied only from a host that it can believe to be the one it meant.
  const std::string asked = policies::canonicalHost(hello.sni);
  const std::string& name = refusal && !asked.empty() ? asked : crossing.to.host;
  auto leaf = shared.authority->leafFor(name);
  if (!leaf) {
    abortSocket(crossing.socket);
    co_return;
  }
  ca::Accepted accepted =
      co_await ca::acceptTls(std::move(crossing.socket), std::move(crossing.early),
                             std::move(*leaf), shared.limits.first_bytes);
  if (!accepted.connection) {
    shared.emit({"broker.tls_failed",
                 {{"host", crossing.to.host},
                  {"port", crossing.to.port},
                  {"why", ca::nameOf(accepted.failure)},
                  {"sentence", accepted.sentence}}});
    co_return;
  }
  if (refusal) {
    co_await answerDenied(crossing.shared, std::move(accepted.connection), std::move(*refusal));
    co_return;
  }
  Approach approach;
  approach.kind = Approach::Kind::Host;
  approach.to = upstreamOf(crossing.to, true);
  co_await serveHttp(crossing.shared, std::move(accepted.connection), std::move(approach));
}

asio::awaitable<void> servePlain(Crossing crossing) {
  std::optional<Refusal> refusal;
  if (!crossing.access.any())
    refusal = deniedByPolicy(crossing);
  else if (!crossing.access.plain_http)
    refusal = denial(crossing, "policy",
                     "plain HTTP to " + crossing.to.host + " port " +
                         std::to_string(crossing.to.port) + " is not allowed; use https");
  if (refusal) emitDenied(crossing, *refusal);
  auto connection = net::plainConnection(std::move(crossing.socket), std::move(crossing.early));
  if (refusal) {
    co_await answerDenied(crossing.shared, std::move(connection), std::move(*refusal));
    co_return;
  }
  Approach approach;
  approach.kind = Approach::Kind::Host;
  approach.to = upstreamOf(crossing.to, false);
  co_await serveHttp(crossing.shared, std::move(connection), std::move(approach));
}

/// What is neither HTTP nor TLS, or says nothing, has no rule that lets it pass.
void refuseOther(Crossing& crossing, const Opening& opening) {
  const std::string reason =
      !crossing.access.any()
          ? crossing.access.reason
          : "it speaks neither HTTP nor TLS" +
                (opening.fault.empty() ? std::string() : " (" + opening.fault + ")") +
                "; only a rule with \"protocol: tcp\" lets other bytes pass";
  emitDenied(crossing, denial(crossing, crossing.access.any() ? "protocol" : "policy", reason));
  abortSocket(crossing.socket);
}

asio::awaitable<void> serveTo(Crossing crossing) {
  crossing.access =
      policies::accessTo(crossing.shared->rules.policy, crossing.to.host, crossing.to.port);
  if (crossing.access.tcp) {
    co_await passThrough(std::move(crossing), policies::Flow::Tcp);
    co_return;
  }
  Opening opening =
      co_await readOpening(&crossing.socket, &crossing.early, crossing.shared->limits.first_bytes);
  switch (opening.kind) {
    case Opening::Kind::Http:
      co_await servePlain(std::move(crossing));
      co_return;
    case Opening::Kind::Tls:
      co_await serveTls(std::move(crossing), std::move(opening.hello));
      co_return;
    case Opening::Kind::Other:
      refuseOther(crossing, opening);
      co_return;
    case Opening::Kind::Gone:
      co_return;
  }
}

asio::awaitable<void> answerProxyDenied(Crossing crossing, Refusal refusal) {
  emitDenied(crossing, refusal);
  auto connection = net::plainConnection(std::move(crossing.socket), std::move(crossing.early));
  co_await answerDenied(crossing.shared, std::move(connection), std::move(refusal));
}

/// `head_length` bytes of early are the head of CONNECT.
asio::awaitable<void> serveConnect(Crossing crossing, std::string target, std::size_t head_length) {
  const auto named = readHostAndPort(target, 0);
  if (!named || named->port == 0) {
    Refusal refusal = badRequest({400, "CONNECT takes host:port"});
    co_await answerProxyDenied(std::move(crossing), std::move(refusal));
    co_return;
  }
  crossing.to = *named;
  crossing.access =
      policies::accessTo(crossing.shared->rules.policy, crossing.to.host, crossing.to.port);
  std::optional<Refusal> refusal;
  if (isLoopbackHost(named->host))
    refusal = denial(crossing, "loopback_by_proxy",
                     "a proxy does not lead to this machine itself; dial the address directly "
                     "(NO_PROXY=localhost,127.0.0.1,::1)");
  else if (!crossing.access.any())
    refusal = deniedByPolicy(crossing);
  if (refusal) {
    co_await answerProxyDenied(std::move(crossing), std::move(*refusal));
    co_return;
  }
  crossing.early.erase(0, head_length);
  const std::string established = "HTTP/1.1 200 Connection established\r\n\r\n";
  auto [failure, count] =
      co_await asio::async_write(crossing.socket, asio::buffer(established), kAwait);
  if (failure) co_return;
  co_await serveTo(std::move(crossing));
}

}  // namespace

asio::awaitable<void> serveTransparent(std::shared_ptr<Shared> shared, tcp::socket socket,
                                       std::shared_ptr<dns::Stub> names) {
  boost::system::error_code failure;
  const tcp::endpoint dialled = socket.local_endpoint(failure);
  if (failure) co_return;
  if (dialled.port() == kDnsPort && names) {
    co_await names->serveStream(std::move(socket));
    co_return;
  }
  Crossing crossing{std::move(shared), std::move(socket), {}, {}, {}};
  asio::ip::address address = dialled.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  crossing.to.port = dialled.port();
  crossing.to.host = crossing.shared->names ? crossing.shared->names->nameOf(address) : "";
  if (crossing.to.host.empty()) crossing.to.host = address.to_string();
  co_await serveTo(std::move(crossing));
}

asio::awaitable<void> serveProxy(std::shared_ptr<Shared> shared, tcp::socket socket) {
  Crossing crossing{std::move(shared), std::move(socket), {}, {}, {}};
  std::size_t head_length = 0;
  const ProxyOpening opening = co_await readProxyOpening(&crossing.socket, &crossing.early,
                                                         crossing.shared->limits.client_idle);
  head_length = opening.head_length;
  if (opening.gone) co_return;
  if (opening.connect) {
    co_await serveConnect(std::move(crossing), opening.target, head_length);
    co_return;
  }
  // Whatever else it is, the session judges and answers it.
  Approach approach;
  approach.kind = Approach::Kind::Proxy;
  auto connection = net::plainConnection(std::move(crossing.socket), std::move(crossing.early));
  co_await serveHttp(crossing.shared, std::move(connection), std::move(approach));
}

}  // namespace warder::secrets
