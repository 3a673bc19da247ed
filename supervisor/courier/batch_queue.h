// Lines that wait to be acknowledged, and how they are cut into batches. Pure.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "supervisor/journal/reader.h"

namespace warder::courier {

struct Batch {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::string last_hash;  // SHA-256 of the last line
  std::string body;       // NDJSON
};

class BatchQueue {
 public:
  /// Largest body, unless a single line is longer.
  static constexpr std::size_t kMaxBody = 256 * 1024;

  void add(std::vector<journal::Line> lines);
  bool empty() const { return lines_.empty(); }
  std::size_t bytes() const { return bytes_; }
  /// The next batch: whole lines in order, up to the limit and up to a hole in the numbers.
  Batch next() const;
  /// The number of the first line that is missing in the middle, 0 when there is none up to the
  /// first line that waits: `acked` is the last one acknowledged.
  std::uint64_t holeAfter(std::uint64_t acked) const;
  /// Drops lines up to `seq`: they are acknowledged.
  void acked(std::uint64_t seq);
  /// The last batch was too large. False when it was one line already: no smaller one exists.
  bool halve();
  void clear();

 private:
  std::deque<journal::Line> lines_;
  std::size_t bytes_ = 0;
  std::size_t limit_ = kMaxBody;
};

}  // namespace warder::courier
