// The scribe's side of the harvest: turns the stream into blobs and events.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"
#include "supervisor/journal/digest.h"
#include "supervisor/journal/harvest_stream.h"

namespace warder::journal {

/// Most artifact events of one harvest; the rest is told by one event.
inline constexpr std::size_t kMaxArtifacts = 10'000;

class HarvestStore {
 public:
  struct Limits {
    std::uint64_t max_size = 0;  // bytes of all artifacts together, and once more for the patch
    std::size_t max_artifacts = kMaxArtifacts;
  };
  /// `emit` gets artifact.stored, artifact.skipped, patch.stored and patch.skipped.
  HarvestStore(std::string run_dir, Limits limits, base::Emit emit);

  /// Takes bytes of the stream. A stream that breaks its rules is an event, not an error, and what
  /// follows it is ignored. Errors: Kernel when the spool cannot be written.
  base::Status take(std::string_view bytes);
  /// The stream has ended. Tells what was left unfinished, syncs the folder.
  base::Status finish();

 private:
  struct Open {
    bool patch = false;
    HarvestFile file;
    bool dropped = false;  // its bytes pass by unread
    std::string reason;    // why it was dropped
    std::uint64_t bytes = 0;
    Sha256 digest;
    base::UniqueFd blob;
  };
  base::Status takeItem(const HarvestItem& item);
  base::Status begin(Open open);
  base::Status addBytes(std::string_view bytes);
  base::Status end(const HarvestEnd& end);
  void skip(const Open& open, std::string_view reason);
  void skipPath(const HarvestPath& path, std::string_view reason);
  std::string part() const;

  std::string folder_;
  Limits limits_;
  base::Emit emit_;
  HarvestParser parser_;
  std::optional<Open> open_;
  std::uint64_t used_ = 0;
  std::size_t told_ = 0;
  bool patch_told_ = false;
  bool ignoring_ = false;
};

}  // namespace warder::journal
