// The blobs of a run and where they lie.
#pragma once
#include <map>
#include <string>

#include "supervisor/base/fd.h"

namespace warder::courier {

struct BlobFile {
  base::UniqueFd file;
  std::uint64_t bytes = 0;
};

/// Finds blobs by digest: artifacts and the patch in blobs/HEX, the agent's output in its file.
class RunBlobs {
 public:
  explicit RunBlobs(std::string run_dir) : run_dir_(std::move(run_dir)) {}

  /// Learns from the journal which output file has which digest.
  base::Status readJournal();
  /// `digest`: 64 hex digits. Errors: NotFound; Denied for anything but a regular file.
  base::Result<BlobFile> open(const std::string& digest) const;

 private:
  std::string run_dir_;
  std::map<std::string, std::string> outputs_;  // digest -> file below run_dir_
};

}  // namespace warder::courier
