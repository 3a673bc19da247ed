// Reads the journal of a run, dead or alive.
#pragma once
#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"

namespace warder::journal {

namespace json = boost::json;

/// One line of the journal: the exact bytes of its JSON, without the newline.
struct Line {
  std::uint64_t seq = 0;
  std::string text;
};

/// Follows a journal from its first line, across segments, while the scribe may be writing it.
/// Not thread-safe. Damaged places are stepped over and counted.
class JournalTail {
 public:
  /// `after`: the last seq that the caller has; lines up to it are left out. Touches no file yet.
  explicit JournalTail(std::string run_dir, std::uint64_t after = 0);

  /// The lines that came since the last call, in order, at most about 1 MiB of them; empty when
  /// there is nothing new now (or no journal yet). What is returned is on disk: the segment is
  /// synced first, so nobody is told what a power cut could take back.
  /// Errors: Kernel when the journal cannot be read.
  base::Result<std::vector<Line>> more();

  /// Bytes in the middle of the journal, so far, that were no sound frame.
  std::uint64_t damagedBytes() const { return damaged_; }
  /// Bytes after the last sound frame that were seen by the last call: a cut write, once the
  /// writer is gone.
  std::uint64_t tornBytes() const { return unread_.size(); }

 private:
  base::Result<bool> readOn();
  base::Status takeFrames(std::vector<Line>& lines);

  std::string run_dir_;
  std::uint64_t after_ = 0;
  int segment_ = 0;  // number of the open one; 0 before the first
  base::UniqueFd fd_;
  std::string unread_;  // bytes of the open segment that are not yet lines
  std::uint64_t damaged_ = 0;
};

/// All lines of a journal that is no longer, or not at present, written.
base::Result<std::vector<Line>> readJournal(const std::string& run_dir);

/// A journal line as the event that it records. Errors: Config when it is none.
base::Result<base::Event> eventOf(const Line& line);

/// run.json. Errors: NotFound, Kernel, Config.
base::Result<json::object> readIdentity(const std::string& run_dir);

/// The number of a line. Errors: Config when the text is no journal line.
base::Result<std::uint64_t> seqOf(std::string_view text);

/// "00000001.wal" for 1.
std::string segmentName(int number);
/// RUN_DIR/journal/00000001.wal for 1.
std::string segmentPath(const std::string& run_dir, int number);

}  // namespace warder::journal
