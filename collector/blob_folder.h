// Blobs on disk: DATA/blobs/ab/HEX, named by their SHA-256. What is there is whole and synced.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/journal/digest.h"

namespace warder::collector {

struct StoredBlob {
  base::UniqueFd file;
  std::uint64_t bytes = 0;
};

/// A blob on its way in: written under another name, renamed when its digest is right. Goes away
/// without a trace when it is dropped before.
class IncomingBlob {
 public:
  IncomingBlob(std::string temporary, base::UniqueFd file);
  IncomingBlob(IncomingBlob&& other) noexcept;
  IncomingBlob& operator=(IncomingBlob&&) = delete;
  ~IncomingBlob();

  /// Errors: Kernel with ENOSPC or EDQUOT when the disk is full.
  base::Status write(std::string_view bytes);
  /// 64 hex digits over all that was written. Once.
  std::string digest();
  int fd() const { return file_.get(); }
  const std::string& temporary() const { return temporary_; }
  void kept() { temporary_.clear(); }

 private:
  std::string temporary_;
  base::UniqueFd file_;
  std::unique_ptr<journal::Sha256> hash_;
};

class BlobFolder {
 public:
  /// Makes the folders below `data` and removes what a crash left half written.
  static base::Result<BlobFolder> open(const std::string& data);

  bool has(const std::string& digest) const;
  /// Errors: NotFound.
  base::Result<StoredBlob> find(const std::string& digest) const;
  base::Result<IncomingBlob> begin();
  /// Syncs, renames to `digest` and syncs the folder: on disk when it returns. May block for as
  /// long as the disk needs; safe to call on another thread than begin().
  base::Status keep(IncomingBlob& blob, const std::string& digest) const;

 private:
  explicit BlobFolder(std::string data) : data_(std::move(data)) {}
  std::string pathOf(const std::string& digest) const;

  std::string data_;
  std::uint64_t next_ = 0;
};

}  // namespace warder::collector
