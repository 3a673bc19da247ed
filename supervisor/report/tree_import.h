// Hands the files of a work tree to git, as the input of `git fast-import`.
#pragma once
#include <string>
#include <vector>

#include "supervisor/report/git_folder.h"
#include "supervisor/report/work_tree.h"

namespace warder::report {

struct ImportOrder {
  int workspace = -1;  // a descriptor of the folder
  std::string branch;  // what the tree is called from now on
  std::string onto;    // the branch that it continues; empty for none
};

/// Stores the tree. A file that cannot be read is moved to `tree.left_out`, and stays as it was on
/// `onto`. Errors: Timeout, Kernel, Internal.
base::Status importTree(const GitFolder& git, const ImportOrder& order, WorkTree& tree);

}  // namespace warder::report
