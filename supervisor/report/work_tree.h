// What of the workspace is part of the patch: found by a walk of our own, which opens nothing but
// folders and .gitignore files that are regular.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "supervisor/report/ignore_rules.h"

namespace warder::report {

/// Largest file that a patch tells of, in bytes.
inline constexpr std::uint64_t kLargestInPatch = 64 << 20;

struct LeftOut {
  std::string path;
  std::string reason;
  bool special = false;  // no file, link or folder: it cannot be in a patch, and never was
  bool nested = false;   // a repository of its own
};

/// What a work tree was before: nothing for the first look.
struct RememberedTree {
  std::unordered_set<std::string> files;
  std::unordered_set<std::string> folders;  // of the files
  std::unordered_map<std::string, LeftOut> left_out;

  void addFile(const std::string& path);
};

struct WorkTree {
  std::vector<std::string> files;    // regular files and symbolic links
  std::vector<LeftOut> left_out;     // in no order
  std::vector<std::string> removed;  // of the remembered files
  std::size_t long_rules = 0;        // .gitignore files that were too long to be applied
};

/// Walks `workspace` (a descriptor of the folder). What was left out before is left out again, so
/// that it does not look new; a remembered file that is left out now counts as unchanged. What
/// .gitignore excludes is no part of it, unless it was remembered.
/// Errors: Timeout when it is too large or the time is over, Kernel, Internal.
base::Result<WorkTree> lookAtWorkTree(int workspace, const RememberedTree& before,
                                      IgnoreRules rules, Deadline deadline);

}  // namespace warder::report
