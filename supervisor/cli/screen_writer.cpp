#include "supervisor/cli/screen_writer.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace warder::cli {

bool ScreenWriter::wouldTake(int timeout_ms) const {
  pollfd reader{fd_, POLLOUT, 0};
  return ::poll(&reader, 1, timeout_ms) == 1;
}

void ScreenWriter::flush() {
  std::size_t written = 0;
  // A pipe that is ready takes PIPE_BUF bytes at once, so that write(2) does not wait. Source:
  // pipe(7).
  while (!closed_ && written < waiting_.size() && wouldTake(0)) {
    const std::size_t piece = std::min<std::size_t>(waiting_.size() - written, PIPE_BUF);
    const ssize_t count = ::write(fd_, waiting_.data() + written, piece);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) break;
    if (count < 0) closed_ = true;
    written += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  waiting_.erase(0, closed_ ? std::string::npos : written);
}

void ScreenWriter::drain(int interrupt) {
  for (flush(); !idle(); flush()) {
    pollfd sources[] = {{fd_, POLLOUT, 0}, {interrupt, POLLIN, 0}};
    if (::poll(sources, 2, -1) < 0 && errno != EINTR) return;
    if (sources[1].revents != 0) return;
  }
}

}  // namespace warder::cli
