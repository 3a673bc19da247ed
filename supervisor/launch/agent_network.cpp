#include "supervisor/launch/agent_network.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>

#include "supervisor/base/wire.h"
#include "supervisor/launch/confine.h"
#include "supervisor/launch/listeners.h"
#include "supervisor/launch/lo_network.h"
#include "supervisor/launch/socket_lookup.h"

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
using base::UniqueFd;
namespace json = base::json;

namespace {

constexpr std::chrono::milliseconds kStartLimit{10'000};
/// Where sk_lookup's listeners are bound to; by address and port nobody meets them.
constexpr std::uint16_t kNowherePort = 1;
/// Programs try these without being told to, and shall get an answer that they can read.
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool isTaken(const Result<std::vector<UniqueFd>>& sockets) {
  return !sockets && sockets.error().system_errno == EADDRINUSE;
}

bool contains(const std::vector<std::uint16_t>& ports, std::uint16_t port) {
  return std::find(ports.begin(), ports.end(), port) != ports.end();
}

Result<std::vector<UniqueFd>> listenOnLoopback(std::uint16_t port, bool ipv6) {
  std::vector<UniqueFd> sockets;
  auto first = listenOn(SocketAddress::loopback(AF_INET, port));
  if (!first) return first.error();
  sockets.push_back(std::move(*first));
  if (!ipv6) return sockets;
  auto second = listenOn(SocketAddress::loopback(AF_INET6, portOf(sockets.front())));
  if (!second) return second.error();
  sockets.push_back(std::move(*second));
  return sockets;
}

/// Makes what a network shall have, in the one that this thread is in.
class NetworkBuilder {
 public:
  /// A namespace of our own, with every address of both versions local to it.
  Status enter() {
    if (::unshare(CLONE_NEWNET) != 0) return kernelError("cannot make a network namespace");
    if (auto up = raiseLoopback(); !up) return up;
    if (auto local = makeEveryAddressLocal(AF_INET); !local) return local;
    network_.ipv6 = hasLoopback6();
    if (network_.ipv6)
      if (auto local = makeEveryAddressLocal(AF_INET6); !local) return local;
    auto self = base::openFile("/proc/thread-self/ns/net", O_RDONLY);
    if (!self) return self.error();
    network_.network_namespace = std::move(*self);
    return {};
  }

  Status captureAll() {
    for (const int family : families()) {
      auto socket = listenOn(SocketAddress::nowhere(family, kNowherePort));
      if (!socket) return socket.error();
      network_.transparent.push_back(std::move(*socket));
    }
    const int v6 = network_.ipv6 ? network_.transparent.back().get() : -1;
    auto captured = captureConnections(network_.transparent.front().get(), v6);
    if (captured) {
      network_.how = Capture::SkLookup;
      network_.lookup = std::move(*captured);
      return {};
    }
    network_.how = Capture::Ports;
    network_.why_not_all = captured.error().sentence();
    network_.transparent.clear();
    return {};
  }

  Status capturePorts(const std::vector<std::uint16_t>& asked) {
    if (network_.how != Capture::Ports) return {};
    std::vector<std::uint16_t> ports = {kHttpPort, kHttpsPort};
    for (const auto port : asked) {
      if (port == kDnsPort || contains(ports, port)) continue;
      auto& list = ports.size() < kMostCapturedPorts ? ports : network_.ports_left;
      if (!contains(list, port)) list.push_back(port);
    }
    for (const auto port : ports)
      for (const int family : families()) {
        auto socket = listenOn(SocketAddress::any(family, port));
        if (!socket) return socket.error().during("port " + std::to_string(port));
        network_.transparent.push_back(std::move(*socket));
      }
    network_.ports_served = std::move(ports);
    return {};
  }

  Status serveNames() {
    for (const int family : families()) {
      auto udp = bindNameServer(family);
      if (!udp) return udp.error();
      network_.dns_udp.push_back(std::move(*udp));
      auto tcp = listenOn(SocketAddress::any(family, kDnsPort));
      if (!tcp) return tcp.error();
      network_.dns_tcp.push_back(std::move(*tcp));
    }
    return {};
  }

  /// After the ports of a policy, which may be those that the doors would have.
  Status openDoors(std::size_t count) {
    auto proxy = listenFrom(kProxyPort);
    if (!proxy) return proxy.error();
    network_.proxy = std::move(*proxy);
    network_.proxy_port = portOf(network_.proxy.front());
    for (std::size_t i = 0; i < count; ++i) {
      auto sockets = listenFrom(static_cast<std::uint16_t>(kFirstDoorPort + i));
      if (!sockets) return sockets.error();
      network_.ports.push_back(portOf(sockets->front()));
      network_.listeners.push_back(std::move(*sockets));
    }
    return {};
  }

  void lookForIpv6() { network_.ipv6 = hasLoopback6(); }
  AgentNetwork take() { return std::move(network_); }

 private:
  std::vector<int> families() const {
    return network_.ipv6 ? std::vector<int>{AF_INET, AF_INET6} : std::vector<int>{AF_INET};
  }

  Result<std::vector<UniqueFd>> listenFrom(std::uint16_t port) const {
    auto sockets = listenOnLoopback(port, network_.ipv6);
    // A free port of version 4 may be taken in version 6.
    for (int tries = 0; isTaken(sockets) && tries < 3; ++tries)
      sockets = listenOnLoopback(0, network_.ipv6);
    return sockets;
  }

  AgentNetwork network_;
};

Status fill(NetworkBuilder& builder, const NetworkRequest& request) {
  if (auto captured = builder.capturePorts(request.ports); !captured) return captured;
  if (auto names = builder.serveNames(); !names) return names;
  return builder.openDoors(request.doors);
}

Status enter(NetworkBuilder& builder) {
  if (auto entered = builder.enter(); !entered) return entered;
  return builder.captureAll();
}

json::array numbers(const std::vector<std::uint16_t>& ports) {
  return json::array(ports.begin(), ports.end());
}

std::vector<std::uint16_t> portsAt(const json::object& object, const char* key) {
  std::vector<std::uint16_t> ports;
  for (const auto& port : object.at(key).as_array())
    ports.push_back(port.to_number<std::uint16_t>());
  return ports;
}

/// A network's descriptors in the order in which they are handed over.
void forEachFd(AgentNetwork& network, const auto& visit) {
  visit(network.network_namespace);
  if (network.how == Capture::SkLookup) visit(network.lookup);
  for (auto& sockets : network.listeners)
    for (auto& socket : sockets) visit(socket);
  for (auto* sockets : {&network.proxy, &network.transparent, &network.dns_udp, &network.dns_tcp})
    for (auto& socket : *sockets) visit(socket);
}

json::object describe(const AgentNetwork& network) {
  return {{"ready", true},
          {"all", network.how == Capture::SkLookup},
          {"why_not_all", network.why_not_all},
          {"ipv6", network.ipv6},
          {"doors", numbers(network.ports)},
          {"proxy", network.proxy_port},
          {"served", numbers(network.ports_served)},
          {"left", numbers(network.ports_left)},
          {"transparent", network.transparent.size()}};
}

/// In as many messages as the descriptors take; the first one says what they are.
Status handOver(AgentNetwork& network) {
  std::vector<int> fds;
  forEachFd(network, [&fds](UniqueFd& fd) { fds.push_back(fd.get()); });
  json::object body = describe(network);
  for (std::size_t sent = 0; sent < fds.size(); sent += base::kMaxMessageFds) {
    const std::span<const int> rest = std::span(fds).subspan(sent);
    const auto some = rest.first(std::min(rest.size(), base::kMaxMessageFds));
    if (auto told = base::sendMessage(base::kControlFd, body, some); !told) return told;
    body = {{"more", true}};
  }
  return {};
}

/// A network as the first message describes it, still without its descriptors. Throws what
/// Boost.JSON throws where the message is another.
AgentNetwork described(const json::object& said) {
  AgentNetwork network;
  network.how = said.at("all").as_bool() ? Capture::SkLookup : Capture::Ports;
  network.why_not_all = std::string(said.at("why_not_all").as_string());
  network.ipv6 = said.at("ipv6").as_bool();
  network.ports = portsAt(said, "doors");
  network.proxy_port = said.at("proxy").to_number<std::uint16_t>();
  network.ports_served = portsAt(said, "served");
  network.ports_left = portsAt(said, "left");
  const std::size_t versions = network.ipv6 ? 2 : 1;
  for (std::size_t i = 0; i < network.ports.size(); ++i) network.listeners.emplace_back(versions);
  for (auto* sockets : {&network.proxy, &network.dns_udp, &network.dns_tcp})
    sockets->resize(versions);
  network.transparent.resize(said.at("transparent").to_number<std::size_t>());
  return network;
}

/// The other end of handOver.
Result<AgentNetwork> takeOver(const StartedStage& stage, base::Message first) {
  AgentNetwork network = described(first.body);
  std::vector<UniqueFd*> places;
  forEachFd(network, [&places](UniqueFd& fd) { places.push_back(&fd); });
  std::vector<UniqueFd> fds = std::move(first.fds);
  while (fds.size() < places.size()) {
    auto more = awaitMessage(stage.control.get(), kStartLimit);
    if (!more) return more.error().during("taking over the agent's network");
    for (auto& fd : more->fds) fds.push_back(std::move(fd));
    if (more->fds.empty()) break;
  }
  if (fds.size() != places.size())
    return Error{Kind::Internal, "the net stage handed over the wrong descriptors"};
  for (std::size_t i = 0; i < fds.size(); ++i) *places[i] = std::move(fds[i]);
  return network;
}

Result<NetworkRequest> receiveRequest() {
  auto message = base::receiveMessage(base::kControlFd);
  if (!message) return message.error();
  if (!*message) return Error{Kind::Peer, "nobody wants the network any more"};
  NetworkRequest request;
  request.doors = (*message)->body.at("doors").to_number<std::size_t>();
  request.ports = portsAt((*message)->body, "ports");
  return request;
}

Status runStage() try {
  NetworkBuilder builder;
  const auto entered = enter(builder);
  // Read in any case: a socket that is closed on an unread message takes our own word with it.
  auto request = receiveRequest();
  if (!entered) return entered;
  if (!request) return request.error();
  if (auto filled = fill(builder, *request); !filled) return filled;
  AgentNetwork network = builder.take();
  return handOver(network);
} catch (const std::exception& error) {
  return Error{Kind::Internal, std::string("the network's request is not valid: ") + error.what()};
}

}  // namespace

std::string_view nameOf(Capture capture) {
  switch (capture) {
    case Capture::SkLookup:
      return "sk_lookup";
    case Capture::Ports:
      return "ports";
    case Capture::None:
      break;
  }
  return "";
}

Result<StartedStage> startNetworkStage() {
  return startStage({"net", {}, {}, 0, 0, false});
}

Result<AgentNetwork> awaitNetwork(const StartedStage& stage, const NetworkRequest& request) try {
  // One that is gone has said why.
  (void)base::sendMessage(stage.control.get(),
                          {{"doors", request.doors}, {"ports", numbers(request.ports)}});
  auto ready = awaitReady(stage, kStartLimit);
  if (!ready) return ready.error();
  return takeOver(stage, std::move(*ready));
} catch (const std::exception& error) {
  return Error{Kind::Internal, std::string("the net stage's answer is not valid: ") + error.what()};
}

Result<AgentNetwork> enterAgentNetwork(const NetworkRequest& request) {
  NetworkBuilder builder;
  if (auto entered = enter(builder); !entered) return entered.error();
  if (auto filled = fill(builder, request); !filled) return filled.error();
  return builder.take();
}

Result<AgentNetwork> listenHere(std::size_t doors) {
  if (auto up = raiseLoopback(); !up)
    return up.error().during(
        "the loopback interface is down, so that nothing could reach the broker; it takes "
        "CAP_NET_ADMIN or whoever made this network to raise it");
  NetworkBuilder builder;
  builder.lookForIpv6();
  if (auto opened = builder.openDoors(doors); !opened) return opened.error();
  return builder.take();
}

bool mayMakeNetworks() {
  return hasCapability(CAP_SYS_ADMIN) && hasCapability(CAP_NET_ADMIN);
}

int networkMain() {
  if (auto config = base::readStageConfig(); !config) return 125;
  auto made = runStage();
  if (!made) (void)base::sayFailed(base::kControlFd, "network", made.error());
  return made ? 0 : 125;
}

}  // namespace warder::launch
