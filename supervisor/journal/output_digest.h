// What `output.closed` says about a stream of the agent: its size, its digest, its last line.
#pragma once
#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/journal/digest.h"

namespace warder::journal {

namespace json = boost::json;

/// Longest line that is kept while it is read; of a longer one only the start is known.
inline constexpr std::size_t kMaxLastLine = 1 << 20;
/// Room for the line in the event, as a JSON string; fits a message between stages.
inline constexpr std::size_t kMaxPrintedLastLine = 64 * 1024;

/// Fed with every byte of a stream in order. Pure, constant memory.
class OutputDigest {
 public:
  void add(std::string_view bytes);
  /// The event's data: stream, bytes, sha256, last_line (the last one that is not blank; made
  /// valid UTF-8), last_line_complete (a newline followed it), last_line_bytes, and last_line_cut
  /// when the text was shortened. Call once, at the end.
  json::object finish(std::string_view stream);

  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Kept {
    std::string text;
    std::uint64_t bytes = 0;  // of the whole line
    bool blank = true;
  };
  void extend(std::string_view part);

  Sha256 digest_;
  std::uint64_t bytes_ = 0;
  Kept open_;  // the line that has no newline yet
  Kept last_;  // the last complete line that is not blank
};

/// The same for a file that holds the stream. Errors: NotFound, Kernel.
base::Result<json::object> digestOfOutput(const std::string& path, std::string_view stream);

}  // namespace warder::journal
