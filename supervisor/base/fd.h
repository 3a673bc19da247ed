// File descriptors that close themselves, and the only places where descriptors are created.
// Every descriptor made here is close-on-exec.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "supervisor/base/result.h"

namespace warder::base {

/// Owns one descriptor. Moves like unique_ptr; never converts to int by itself.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    UniqueFd moved(std::move(other));
    std::swap(fd_, moved.fd_);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};

/// open(2) with O_CLOEXEC. Errors: NotFound for ENOENT, Kernel otherwise; names the path.
Result<UniqueFd> openFile(const std::string& path, int flags, mode_t mode = 0);
/// openat(2) with O_CLOEXEC, relative to a folder's descriptor.
Result<UniqueFd> openAt(int folder, const std::string& path, int flags, mode_t mode = 0);
Result<Pipe> makePipe();
/// SOCK_SEQPACKET pair: message boundaries are kept, so one message is one JSON object.
Result<SocketPair> makeMessagePair();
/// A memfd that holds `text`, sealed against change, positioned at the start.
Result<UniqueFd> sealedText(const std::string& name, std::string_view text);
/// The copy's number is `at_least` or higher.
Result<UniqueFd> duplicate(int fd, int at_least = 3);
/// `number` becomes a copy of `fd`, kept at exec: for standard streams. Source: dup2(2).
Status replace(int number, int fd);
Status setNonBlocking(int fd, bool on);
Status setCloseOnExec(int fd, bool on);

/// Reads to the end, at most `limit` bytes; longer input is an Error of Kind::Config.
Result<std::string> readAll(int fd, std::size_t limit);
Result<std::string> readFile(const std::string& path, std::size_t limit);
/// Writes all of it, retrying on EINTR and short writes.
Status writeAll(int fd, std::string_view bytes);

}  // namespace warder::base
