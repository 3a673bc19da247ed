#include "supervisor/net/socket_bio.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "supervisor/net/socket_calls.h"

namespace warder::net {

namespace {

SocketEnd& endOf(BIO* bio) {
  return *static_cast<SocketEnd*>(BIO_get_data(bio));
}

int takeEarly(SocketEnd& end, char* into, std::size_t size) {
  const std::size_t count = std::min(size, end.early.size() - end.early_taken);
  std::memcpy(into, end.early.data() + end.early_taken, count);
  end.early_taken += count;
  if (end.early_taken == end.early.size()) {
    end.early = {};
    end.early_taken = 0;
  }
  return static_cast<int>(count);
}

int readSocket(BIO* bio, char* into, int size) {
  SocketEnd& end = endOf(bio);
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  if (!end.early.empty()) return takeEarly(end, into, static_cast<std::size_t>(size));
  // A closed socket's number may be somebody else's by now.
  if (!end.socket.is_open()) {
    errno = EBADF;
    return -1;
  }
  const ssize_t count = ::recv(end.socket.native_handle(), into, static_cast<std::size_t>(size), 0);
  if (count < 0 && isForLater(errno)) BIO_set_retry_read(bio);
  if (count == 0) end.ended = true;
  return static_cast<int>(count);
}

int writeSocket(BIO* bio, const char* bytes, int size) {
  SocketEnd& end = endOf(bio);
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  if (!end.socket.is_open()) {
    errno = EBADF;
    return -1;
  }
  const ssize_t count =
      ::send(end.socket.native_handle(), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (count < 0 && isForLater(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return endOf(bio).ended ? 1 : 0;
  return 0;
}

BIO_METHOD* makeMethod() {
  BIO_METHOD* method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "a socket of Asio's");
  if (method == nullptr) return nullptr;
  BIO_meth_set_read(method, readSocket);
  BIO_meth_set_write(method, writeSocket);
  BIO_meth_set_ctrl(method, control);
  return method;
}

}  // namespace

BIO* makeSocketBio(SocketEnd& end) {
  static BIO_METHOD* const method = makeMethod();
  BIO* bio = method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, &end);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace warder::net
