#include "supervisor/net/socket_calls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace warder::net {

ssize_t receive(int socket, void* into, std::size_t size) {
  if (socket < 0) {
    errno = EBADF;
    return -1;
  }
  return ::recv(socket, into, size, 0);
}

bool isForLater(int code) {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

void setCork(int socket, bool on) {
  const int value = on ? 1 : 0;
  ::setsockopt(socket, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

bool isSilent(int socket) {
  char byte;
  const ssize_t count = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && isForLater(errno);
}

}  // namespace warder::net
