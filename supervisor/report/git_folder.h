// A git directory of our own, bare: git itself never looks at the work tree, so that nothing that
// lies there (hooks, configuration, attributes, a pipe by the name of .gitignore) has a say.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/report/child_process.h"

namespace warder::report {

/// The git of the box, or nothing.
std::optional<std::string> findGit();

struct GitFolder {
  std::string program;  // absolute
  std::string folder;   // private; holds the git directory
  Deadline deadline;

  /// `git ARGUMENTS…`, ready to run. `work_tree`: empty for none.
  Command command(std::vector<std::string> arguments, const std::string& work_tree = "") const;
  /// Runs it for its effect. A failure becomes one sentence.
  base::Status run(Command command) const;
  /// Makes the git directory. Errors: Kernel, Internal, Timeout.
  base::Status create() const;
};

std::string firstLine(const std::string& text);

}  // namespace warder::report
