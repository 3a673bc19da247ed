#include "supervisor/launch/lo_network.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>

#include "supervisor/base/fd.h"

namespace warder::launch {

using base::kernelError;
using base::Status;
using base::UniqueFd;

namespace {

struct RouteRequest {
  nlmsghdr header;
  rtmsg route;
  char attributes[RTA_SPACE(sizeof(unsigned))];
};

RouteRequest localDefaultRoute(int family) {
  RouteRequest request{};
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
  return request;
}

}  // namespace

Status raiseLoopback() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return kernelError("cannot make a socket");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0)
    return {};
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return kernelError("cannot bring lo up");
  return {};
}

Status makeEveryAddressLocal(int family) {
  const RouteRequest request = localDefaultRoute(family);
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

bool hasLoopback6() {
  UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return socket &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace warder::launch
