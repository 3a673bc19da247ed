#include "supervisor/launch/listeners.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace warder::launch {

using base::kernelError;
using base::Result;
using base::UniqueFd;

namespace {

constexpr const char* kNowhere4 = "192.0.2.1";
constexpr const char* kNowhere6 = "2001:db8::1";

Result<UniqueFd> boundSocket(int type, const SocketAddress& address) {
  UniqueFd socket(::socket(address.family(), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return kernelError("cannot make a socket of the broker");
  const int on = 1;
  if (type == SOCK_STREAM) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    // An address of version 6 is not `lo`'s own because a route says so: to be bound to one, and to
    // answer from one, takes this.
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
  }
  if (::bind(socket.get(), address.get(), address.size()) != 0)
    return kernelError("cannot bind a socket of the broker in the agent's network");
  return socket;
}

}  // namespace

SocketAddress::SocketAddress(int family, std::uint16_t port, const void* address) {
  storage_.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage_);
    v4->sin_port = htons(port);
    std::memcpy(&v4->sin_addr, address, sizeof v4->sin_addr);
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage_);
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, address, sizeof v6->sin6_addr);
  }
}

SocketAddress SocketAddress::loopback(int family, std::uint16_t port) {
  const in_addr v4{htonl(INADDR_LOOPBACK)};
  if (family == AF_INET) return {family, port, &v4};
  return {family, port, &in6addr_loopback};
}

SocketAddress SocketAddress::any(int family, std::uint16_t port) {
  return {family, port, &in6addr_any};  // all zeros in both
}

SocketAddress SocketAddress::nowhere(int family, std::uint16_t port) {
  in6_addr address{};
  ::inet_pton(family, family == AF_INET ? kNowhere4 : kNowhere6, &address);
  return {family, port, &address};
}

Result<UniqueFd> listenOn(const SocketAddress& address) {
  auto socket = boundSocket(SOCK_STREAM, address);
  if (!socket) return socket;
  if (::listen(socket->get(), kBacklog) != 0)
    return kernelError("cannot listen in the agent's network");
  return socket;
}

Result<UniqueFd> bindNameServer(int family) {
  auto socket = boundSocket(SOCK_DGRAM, SocketAddress::any(family, kDnsPort));
  if (!socket) return socket;
  const int on = 1;
  const int set = family == AF_INET
                      ? ::setsockopt(socket->get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on)
                      : ::setsockopt(socket->get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
  if (set != 0) return kernelError("cannot ask for the addresses of questions");
  return socket;
}

std::uint16_t portOf(const UniqueFd& socket) {
  sockaddr_in address{};  // the port stands at the same place in both versions
  socklen_t length = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

}  // namespace warder::launch
