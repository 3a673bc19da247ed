#include "supervisor/launch/agent_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>

#include "supervisor/base/wire.h"
#include "supervisor/launch/confine.h"
#include "supervisor/launch/spawner.h"

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr std::chrono::milliseconds kStartLimit{10'000};
constexpr int kBacklog = 512;

Status bringLoopbackUp() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return kernelError("cannot make a socket");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return kernelError("cannot bring lo up");
  return {};
}

/// `local default dev lo`: a connection to any address ends in this namespace, so it is refused at
/// once instead of hanging. Source: rtnetlink(7), ip-route(8).
Status makeEveryAddressLocal(int family) {
  struct {
    nlmsghdr header;
    rtmsg route;
    char attributes[RTA_SPACE(sizeof(unsigned))];
  } request{};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg)) + RTA_LENGTH(sizeof(unsigned));
  request.header.nlmsg_type = RTM_NEWROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
  request.route.rtm_family = static_cast<unsigned char>(family);
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_STATIC;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  auto* device = reinterpret_cast<rtattr*>(request.attributes);
  device->rta_type = RTA_OIF;
  device->rta_len = RTA_LENGTH(sizeof(unsigned));
  const unsigned index = ::if_nametoindex("lo");
  std::memcpy(RTA_DATA(device), &index, sizeof index);

  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return kernelError("cannot open route netlink");
  if (::send(socket.get(), &request, request.header.nlmsg_len, 0) < 0)
    return kernelError("cannot ask for a local route");
  alignas(nlmsghdr) char answer[1024];
  if (::recv(socket.get(), answer, sizeof answer, 0) < 0)
    return kernelError("cannot read the answer of route netlink");
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  const auto* error = static_cast<const nlmsgerr*>(NLMSG_DATA(header));
  if (header->nlmsg_type != NLMSG_ERROR || error->error != 0)
    return kernelError("cannot make every address local", -error->error);
  return {};
}

Result<UniqueFd> listenOn(const sockaddr* address, socklen_t length) {
  UniqueFd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return kernelError("cannot make a listener");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->sa_family == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(socket.get(), address, length) != 0 || ::listen(socket.get(), kBacklog) != 0)
    return kernelError("cannot listen in the agent's network");
  return socket;
}

std::uint16_t portOf(const UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

Result<std::vector<UniqueFd>> listenOnLoopback(std::uint16_t port, bool ipv6) {
  std::vector<UniqueFd> sockets;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto first = listenOn(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  if (!first) return first.error();
  sockets.push_back(std::move(*first));
  if (!ipv6) return sockets;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  v6.sin6_port = htons(portOf(sockets.front()));
  auto second = listenOn(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  if (!second) return second.error();
  sockets.push_back(std::move(*second));
  return sockets;
}

bool hasIpv6() {
  // A kernel without IPv6 has no ::1 to listen on and no way out over it either.
  return bool(UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

/// Is ::1 there? A namespace may have version 6 switched off (net.ipv6.conf.lo.disable_ipv6).
bool hasLoopback6() {
  UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return socket &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Status raiseLoopback() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return kernelError("cannot make a socket");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0)
    return {};
  auto up = bringLoopbackUp();
  if (!up)
    return up.error().during(
        "the loopback interface is down, so that nothing could reach the broker; it takes "
        "CAP_NET_ADMIN or whoever made this network to raise it");
  return {};
}

Result<std::vector<UniqueFd>> buildNetwork(const std::vector<std::uint16_t>& ports) {
  if (::unshare(CLONE_NEWNET) != 0) return kernelError("cannot make a network namespace");
  if (auto up = bringLoopbackUp(); !up) return up.error();
  if (auto local = makeEveryAddressLocal(AF_INET); !local) return local.error();
  const bool ipv6 = hasIpv6();
  if (ipv6)
    if (auto local = makeEveryAddressLocal(AF_INET6); !local) return local.error();
  std::vector<UniqueFd> fds;
  auto self = base::openFile("/proc/self/ns/net", O_RDONLY);
  if (!self) return self.error();
  fds.push_back(std::move(*self));
  for (const auto port : ports) {
    auto sockets = listenOnLoopback(port, ipv6);
    if (!sockets) return sockets.error();
    for (auto& socket : *sockets) fds.push_back(std::move(socket));
  }
  return fds;
}

}  // namespace

Result<StartedStage> startNetworkStage(const std::vector<std::uint16_t>& ports) {
  base::json::array list(ports.begin(), ports.end());
  return startStage({"net", {{"ports", std::move(list)}}, {}, 0, 0, false});
}

Result<AgentNetwork> makeAgentNetwork(const std::vector<std::uint16_t>& ports) {
  auto stage = startNetworkStage(ports);
  if (!stage) return stage.error();
  return awaitNetwork(*stage, ports);
}

Result<AgentNetwork> awaitNetwork(const StartedStage& stage,
                                  const std::vector<std::uint16_t>& ports) {
  auto ready = awaitReady(stage, kStartLimit);
  if (!ready) return ready.error();
  auto& fds = ready->fds;
  const std::size_t each = ports.empty() ? 0 : (fds.size() - 1) / ports.size();
  if (fds.empty() || fds.size() != 1 + each * ports.size())
    return Error{Kind::Internal, "the net stage handed over the wrong descriptors"};
  AgentNetwork network;
  network.network_namespace = std::move(fds[0]);
  network.ports = ports;
  for (std::size_t port = 0; port < ports.size(); ++port) {
    auto& sockets = network.listeners.emplace_back();
    for (std::size_t i = 0; i < each; ++i) sockets.push_back(std::move(fds[1 + port * each + i]));
  }
  return network;
}

Result<AgentNetwork> listenHere(std::size_t doors) {
  if (auto up = raiseLoopback(); !up) return up.error();
  AgentNetwork network;
  const bool ipv6 = hasLoopback6();
  for (std::size_t i = 0; i < doors; ++i) {
    auto sockets = listenOnLoopback(static_cast<std::uint16_t>(kFirstDoorPort + i), ipv6);
    if (!sockets && sockets.error().system_errno == EADDRINUSE) sockets = listenOnLoopback(0, ipv6);
    if (!sockets) return sockets.error();
    network.ports.push_back(portOf(sockets->front()));
    network.listeners.push_back(std::move(*sockets));
  }
  return network;
}

bool mayMakeNetworks() {
  return hasCapability(CAP_SYS_ADMIN) && hasCapability(CAP_NET_ADMIN);
}

int networkMain() {
  auto config = base::readStageConfig();
  if (!config) return 125;
  std::vector<std::uint16_t> ports;
  for (const auto& port : config->at("ports").as_array())
    ports.push_back(port.to_number<std::uint16_t>());
  auto fds = buildNetwork(ports);
  if (!fds) {
    (void)base::sayFailed(base::kControlFd, "network", fds.error());
    return 125;
  }
  std::vector<int> numbers;
  for (const auto& fd : *fds) numbers.push_back(fd.get());
  return base::sendMessage(base::kControlFd, {{"ready", true}}, numbers) ? 0 : 125;
}

}  // namespace warder::launch
