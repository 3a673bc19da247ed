#include "supervisor/base/local_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif

namespace warder::base {

namespace {

constexpr int kBacklog = 16;

/// A name that fits whatever the folder is called: through the folder's descriptor.
Result<sockaddr_un> addressIn(const UniqueFd& folder, const std::string& name) {
  sockaddr_un address{AF_UNIX, {}};
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get()) + "/" + name;
  if (path.size() >= sizeof address.sun_path)
    return Error{Kind::Internal, "the name of a socket is too long: " + name};
  path.copy(address.sun_path, path.size());
  return address;
}

Result<UniqueFd> makeSocket(int flags) {
  UniqueFd made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!made) return kernelError("cannot make a socket");
  return made;
}

}  // namespace

Result<UniqueFd> listenLocally(const std::string& folder, const std::string& name) {
  auto place = openFile(folder, O_PATH | O_DIRECTORY);
  if (!place) return place.error();
  auto address = addressIn(*place, name);
  if (!address) return address.error();
  auto listener = makeSocket(SOCK_NONBLOCK);
  if (!listener) return listener.error();
  if (::unlinkat(place->get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return kernelError("cannot remove the old " + folder + "/" + name);
  const mode_t before = ::umask(0177);
  const int bound =
      ::bind(listener->get(), reinterpret_cast<sockaddr*>(&*address), sizeof *address);
  const int reason = errno;
  ::umask(before);
  if (bound != 0) return kernelError("cannot make the socket " + folder + "/" + name, reason);
  if (::listen(listener->get(), kBacklog) != 0)
    return kernelError("cannot listen on " + folder + "/" + name);
  return std::move(*listener);
}

Result<std::optional<UniqueFd>> acceptLocally(int listener) {
  UniqueFd client(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client) return std::optional<UniqueFd>(std::move(client));
  if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) return std::optional<UniqueFd>();
  return kernelError("cannot accept a connection");
}

Result<UniqueFd> connectLocally(const std::string& folder, const std::string& name, int limit_ms) {
  auto place = openFile(folder, O_PATH | O_DIRECTORY);
  if (!place) return place.error();
  auto address = addressIn(*place, name);
  if (!address) return address.error();
  auto socket = makeSocket(0);
  if (!socket) return socket.error();
  const timeval limit{limit_ms / 1000, limit_ms % 1000 * 1000};
  for (const int option : {SO_SNDTIMEO, SO_RCVTIMEO})
    if (::setsockopt(socket->get(), SOL_SOCKET, option, &limit, sizeof limit) != 0)
      return kernelError("cannot limit the patience of a socket");
  if (::connect(socket->get(), reinterpret_cast<sockaddr*>(&*address), sizeof *address) != 0) {
    const int reason = errno;
    Error error = kernelError("cannot reach " + folder + "/" + name, reason);
    if (reason == ECONNREFUSED) error.kind = Kind::NotFound;
    return error;
  }
  return std::move(*socket);
}

Result<Peer> peerOf(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return kernelError("cannot tell who is at the other end");
  Peer peer{credentials.pid, credentials.uid, credentials.gid, false};
  // A pid may mean another process by now; a descriptor of the process cannot.
  int number = -1;
  length = sizeof number;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &number, &length) == 0) {
    const UniqueFd process(number);
    pollfd ended{process.get(), POLLIN, 0};
    peer.ended = ::poll(&ended, 1, 0) == 1;
  }
  return peer;
}

}  // namespace warder::base
