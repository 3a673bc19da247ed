// When memory use passes a mark that the job asked to be told about. Pure.
#pragma once
#include <vector>

#include "supervisor/watch/memory_probe.h"

namespace warder::watch {

/// A mark is announced once, and again only after use fell this far below it.
inline constexpr int kRearmPoints = 5;

struct MarkCrossed {
  int percent = 0;
  MemorySample sample;
};

class MarkTracker {
 public:
  /// Marks in percent of the limit, 1 to 99, ascending.
  explicit MarkTracker(std::vector<int> percents);

  /// The marks that this sample reached and that were armed, lowest first. A sample without a
  /// limit crosses nothing.
  std::vector<MarkCrossed> step(const MemorySample& sample);

 private:
  struct Mark {
    int percent;
    bool armed = true;
  };
  std::vector<Mark> marks_;
};

}  // namespace warder::watch
