#include "supervisor/base/fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace warder::base {

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<UniqueFd> openFile(const std::string& path, int flags, mode_t mode) {
  return openAt(AT_FDCWD, path, flags, mode);
}

Result<UniqueFd> openAt(int folder, const std::string& path, int flags, mode_t mode) {
  const int fd = ::openat(folder, path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return kernelError("cannot open " + path);
  return UniqueFd(fd);
}

Result<Pipe> makePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return kernelError("cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<SocketPair> makeMessagePair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return kernelError("cannot make a socket pair");
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<UniqueFd> sealedText(const std::string& name, std::string_view text) {
  UniqueFd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return kernelError("cannot make a memfd for " + name);
  if (auto written = writeAll(fd.get(), text); !written) return written.error();
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return kernelError("cannot seal " + name);
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return kernelError("cannot rewind " + name);
  return fd;
}

Result<UniqueFd> duplicate(int fd, int at_least) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, at_least);
  if (copy < 0) return kernelError("cannot duplicate a descriptor");
  return UniqueFd(copy);
}

namespace {
struct FlagWord {
  int get;
  int set;
};
Status changeFlag(int fd, FlagWord word, int flag, bool on) {
  const int flags = ::fcntl(fd, word.get);
  if (flags < 0 || ::fcntl(fd, word.set, on ? flags | flag : flags & ~flag) < 0)
    return kernelError("cannot change flags of a descriptor");
  return {};
}
}  // namespace

Status replace(int number, int fd) {
  if (::dup2(fd, number) < 0) return kernelError("cannot replace a standard stream");
  return {};
}

Status setNonBlocking(int fd, bool on) {
  return changeFlag(fd, {F_GETFL, F_SETFL}, O_NONBLOCK, on);
}
Status setCloseOnExec(int fd, bool on) {
  return changeFlag(fd, {F_GETFD, F_SETFD}, FD_CLOEXEC, on);
}

Result<std::string> readAll(int fd, std::size_t limit) {
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return kernelError("cannot read");
    if (count == 0) return text;
    if (text.size() + static_cast<std::size_t>(count) > limit)
      return Error{Kind::Config, "is larger than " + std::to_string(limit) + " bytes"};
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

Result<std::string> readFile(const std::string& path, std::size_t limit) {
  // Whoever puts a FIFO there must not keep us waiting for its writer.
  auto fd = openFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return fd.error();
  auto text = readAll(fd->get(), limit);
  if (!text) return text.error().during(path);
  return text;
}

Status writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return kernelError("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace warder::base
