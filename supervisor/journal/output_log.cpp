#include "supervisor/journal/output_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "supervisor/journal/scribe_protocol.h"

namespace warder::journal {

using base::kernelError;

namespace {

constexpr std::size_t kChunk = 256 * 1024;
constexpr int kWantedPipeSize = 1 << 20;  // /proc/sys/fs/pipe-max-size, the most without privilege
constexpr std::size_t kLastDrain = 16 << 20;  // a writer that never stops is left after this much

}  // namespace

base::Result<OutputLog> OutputLog::open(const std::string& run_dir, std::string stream,
                                        base::UniqueFd pipe) {
  const std::string path = run_dir + "/" + kOutputFolder + "/" + stream;
  auto file = base::openFile(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0640);
  if (!file) return file.error();
  if (auto set = base::setNonBlocking(pipe.get(), true); !set) return set.error();
  (void)::fcntl(pipe.get(), F_SETPIPE_SZ, kWantedPipeSize);  // a wish: less works too
  OutputLog log(std::move(stream), std::move(pipe), std::move(*file));
  std::vector<char> buffer(kChunk);
  for (;;) {
    const ssize_t count = ::read(log.file_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return kernelError("cannot read " + path);
    if (count == 0) return log;
    log.digest_.add({buffer.data(), static_cast<std::size_t>(count)});
  }
}

OutputLog::State OutputLog::drain(std::size_t limit) {
  std::vector<char> buffer(kChunk);
  for (std::size_t moved = 0; moved < limit;) {
    const ssize_t count = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return State::Open;
    if (count < 0) fail(kernelError("cannot read the agent's " + stream_));
    if (count <= 0) return State::Ended;
    store({buffer.data(), static_cast<std::size_t>(count)});
    moved += static_cast<std::size_t>(count);
  }
  return State::Open;
}

/// Writes as much as the disk takes; the digest covers exactly what the file holds.
void OutputLog::store(std::string_view bytes) {
  while (!bytes.empty() && !failed_) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      fail(kernelError("cannot store the agent's " + stream_));
      break;
    }
    digest_.add(bytes.substr(0, static_cast<std::size_t>(count)));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  lost_ += bytes.size();
}

void OutputLog::fail(base::Error error) {
  failed_ = true;
  failure_ = std::move(error);
}

json::object OutputLog::close() {
  drain(kLastDrain);
  pipe_.reset();
  if (::fdatasync(file_.get()) != 0) fail(kernelError("cannot sync the agent's " + stream_));
  json::object data = digest_.finish(stream_);
  if (lost_ > 0) data["lost_bytes"] = lost_;
  return data;
}

}  // namespace warder::journal
