// One stream of the agent (standard output or error) on its way into the spool.
#pragma once
#include <boost/json.hpp>
#include <optional>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/journal/output_digest.h"

namespace warder::journal {

/// Copies a pipe to RUN_DIR/output/STREAM byte for byte and digests it on the way. A full disk
/// does not stop the agent: the bytes that could not be written are counted instead.
class OutputLog {
 public:
  enum class State { Open, Ended };

  /// Continues the file if an earlier scribe began it. Errors: Kernel.
  static base::Result<OutputLog> open(const std::string& run_dir, std::string stream,
                                      base::UniqueFd pipe);

  /// Moves what is there, at most about `limit` bytes; never waits. Ended: the pipe has no writer
  /// left. `failure()` tells whether the file took it all.
  State drain(std::size_t limit);
  /// Takes what the pipe holds at this moment and lets go of it, though a writer may be left.
  /// Then syncs the file and returns the data of `output.closed`.
  json::object close();

  int pipe() const { return pipe_.get(); }
  /// The first error of writing the file, once.
  std::optional<base::Error> takeFailure() { return std::exchange(failure_, std::nullopt); }

 private:
  OutputLog(std::string stream, base::UniqueFd pipe, base::UniqueFd file)
      : stream_(std::move(stream)), pipe_(std::move(pipe)), file_(std::move(file)) {}
  void store(std::string_view bytes);
  void fail(base::Error error);

  std::string stream_;
  base::UniqueFd pipe_;
  base::UniqueFd file_;
  OutputDigest digest_;
  std::uint64_t lost_ = 0;
  bool failed_ = false;
  std::optional<base::Error> failure_;
};

}  // namespace warder::journal
