// The job's files on their way into the machine: a tar archive, read as a stream. tar can be made
// anywhere without privileges, needs no file system on the disk that carries it, and says itself
// where it ends.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::boot {

inline constexpr std::size_t kMostJobFiles = 256;
inline constexpr std::size_t kMostJobBytes =
    std::size_t{16} * 1024 * 1024;  // all contents together
inline constexpr std::size_t kLongestJobPath = 200;

struct ArchiveFile {
  std::string path;  // relative, without "." and ".."
  std::string content;
};

/// Reads a ustar archive (POSIX.1-1988; `tar --format=ustar`) in pieces of any size. Only plain
/// files and folders are taken; a file may not stand twice.
class ArchiveReader {
 public:
  /// Errors: Config for what is no such archive or is beyond the limits; the sentence says which.
  base::Status feed(std::string_view bytes);
  /// The archive's own end (two empty blocks) has been read; what follows is no part of it.
  bool complete() const { return complete_; }
  /// Nothing was read so far but zeros, or nothing at all: an empty disk.
  bool empty() const { return files_.empty() && folders_ == 0; }
  const std::vector<ArchiveFile>& files() const { return files_; }

 private:
  base::Status takeBlock(std::string_view block);
  base::Status takeHeader(std::string_view block);
  base::Status addFile(std::string path, std::size_t size);

  std::string rest_;         // less than one block
  std::size_t missing_ = 0;  // bytes of the current file's content
  std::size_t total_ = 0;
  std::size_t folders_ = 0;
  bool zero_before_ = false;
  bool complete_ = false;
  std::vector<ArchiveFile> files_;
};

}  // namespace warder::boot
