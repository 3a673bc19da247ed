// Tells once when a file system that the agent writes to is full: programs then fail in odd ways
// and blame something else (BC-046).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/event.h"

namespace warder::init {

/// One look at a file system. Source: statvfs(3).
struct DiskSample {
  std::uint64_t bytes = 0, free_bytes = 0;
  std::uint64_t inodes = 0, free_inodes = 0;  // 0 inodes: it does not count them
};

/// Full: less than 1 % and less than 16 MiB of bytes, or less than 1 % of inodes, are free for the
/// agent. A full one has recovered when 5 % are free. Pure.
class DiskState {
 public:
  /// True when it has become full with this sample.
  bool step(const DiskSample& sample);

 private:
  bool full_ = false;
};

class DiskWatch {
 public:
  struct Place {
    std::string shown;  // as the agent knows it
    std::string path;   // as we do
  };
  DiskWatch(std::vector<Place> places, base::Emit emit);

  /// Looks at all of them and emits disk.full {mount, bytes, free_bytes, inodes, free_inodes,
  /// sentence} for each that has become full. Costs a few microseconds.
  void look();

 private:
  struct Watched {
    Place place;
    DiskState state;
  };
  std::vector<Watched> watched_;
  base::Emit emit_;
};

}  // namespace warder::init
