// The harvest stage's end of the harvest stream.
#pragma once
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/journal/harvest_stream.h"

namespace warder::report {

/// Writes items to the scribe. Blocks while the scribe is busy; the stage's alarm bounds that.
class HarvestSender {
 public:
  explicit HarvestSender(int stream) : stream_(stream) {}
  base::Status send(const journal::HarvestItem& item) {
    return base::writeAll(stream_, journal::encodeHarvest(item));
  }
  /// Data of any size, in frames.
  base::Status sendData(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.substr(0, journal::kMaxHarvestData);
      if (auto sent = send(journal::HarvestData{part}); !sent) return sent;
      bytes.remove_prefix(part.size());
    }
    return {};
  }

 private:
  int stream_;
};

}  // namespace warder::report
