// System calls on sockets that do not block.
#pragma once
#include <sys/types.h>

#include <cstddef>

namespace warder::net {

/// recv(2); -1 with EBADF for a descriptor that is not open: its number may be somebody else's.
ssize_t receive(int socket, void* into, std::size_t size);
/// Would the same call say something else later (EAGAIN, EINTR)?
bool isForLater(int code);
/// TCP_CORK: small writes travel together. Nothing happens where the socket is no TCP.
void setCork(int socket, bool on);
/// Neither bytes nor an end lie in the socket's queue.
bool isSilent(int socket);

}  // namespace warder::net
