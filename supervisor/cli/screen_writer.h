// Writes to a terminal or a pipe without ever waiting for its reader.
#pragma once
#include <string>
#include <string_view>

namespace warder::cli {

class ScreenWriter {
 public:
  /// Borrows the descriptor, and changes nothing about it: its flags belong to whoever shares it.
  explicit ScreenWriter(int fd) : fd_(fd) {}

  void add(std::string_view text) { waiting_.append(text); }
  /// Writes what the reader takes now. A reader that is gone takes everything.
  void flush();
  /// Waits until all is written, nobody reads any more, or `interrupt` (-1: none) is readable.
  void drain(int interrupt);

  bool idle() const { return waiting_.empty(); }
  std::size_t waiting() const { return waiting_.size(); }
  /// Nobody reads any more.
  bool closed() const { return closed_; }
  int fd() const { return fd_; }

 private:
  bool wouldTake(int timeout_ms) const;

  int fd_;
  std::string waiting_;
  bool closed_ = false;
};

}  // namespace warder::cli
