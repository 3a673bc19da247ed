// What the .gitignore files of a work tree exclude. git judges by a copy of them in a folder of
// our own: of the work tree it sees nothing.
#pragma once
#include <string>
#include <unordered_set>
#include <vector>

#include "supervisor/report/git_folder.h"

namespace warder::report {

class IgnoreRules {
 public:
  /// `place`: where the copies lie; it must not exist yet.
  IgnoreRules(const GitFolder& git, std::string place) : git_(git), place_(std::move(place)) {}

  /// A folder of the work tree is there. Its parents have to be told first.
  base::Status addFolder(const std::string& path);
  /// `text`: the .gitignore of that folder.
  base::Status addRules(const std::string& folder, std::string_view text);
  /// Those of `paths` that the rules exclude. Errors: Timeout, Kernel, Internal.
  base::Result<std::unordered_set<std::string>> excluded(
      const std::vector<std::string>& paths) const;

 private:
  const GitFolder& git_;
  std::string place_;
  bool any_ = false;
};

}  // namespace warder::report
