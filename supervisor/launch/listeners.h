// Sockets of the broker, made in the network that this thread is in and served from outside. All
// are non-blocking and close-on-exec.
#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"

namespace warder::launch {

/// Connections of one listener that the broker has not taken yet; the kernel allows no more than
/// net.core.somaxconn. One more waits for its sender's next try, a second later.
inline constexpr int kBacklog = 4096;

/// An address and port to bind to.
class SocketAddress {
 public:
  /// 127.0.0.1 or ::1.
  static SocketAddress loopback(int family, std::uint16_t port);
  /// 0.0.0.0 or [::].
  static SocketAddress any(int family, std::uint16_t port);
  /// An address of a documentation range (RFC 5737, RFC 3849), to which nobody has business.
  static SocketAddress nowhere(int family, std::uint16_t port);

  int family() const { return storage_.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return sizeof storage_; }

 private:
  SocketAddress(int family, std::uint16_t port, const void* address);
  sockaddr_storage storage_{};
};

/// Listens for TCP. A socket of version 6 is for version 6 alone. Errors: Kernel.
base::Result<base::UniqueFd> listenOn(const SocketAddress& address);

/// A UDP socket on port 53 of every address, which tells of each datagram what address it was sent
/// to (IP_PKTINFO, IPV6_PKTINFO) and may answer from there. Errors: Kernel.
/// Source: ip(7), ipv6(7).
base::Result<base::UniqueFd> bindNameServer(int family);

/// The port that a socket is bound to; 0 when it is not.
std::uint16_t portOf(const base::UniqueFd& socket);

/// Port of a name server (RFC 1035, 4.2).
inline constexpr std::uint16_t kDnsPort = 53;

}  // namespace warder::launch
