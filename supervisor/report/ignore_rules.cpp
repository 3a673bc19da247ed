#include "supervisor/report/ignore_rules.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "supervisor/base/fd.h"

namespace warder::report {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

// git takes and gives names with a NUL after each. With this before it no name looks like a pattern
// of git's own (":(…)").
constexpr std::string_view kHere = "./";

std::unordered_set<std::string> splitNames(std::string_view text) {
  std::unordered_set<std::string> names;
  for (std::size_t end; (end = text.find('\0')) != std::string_view::npos;
       text.remove_prefix(end + 1))
    names.emplace(text.substr(0, end).substr(std::min(kHere.size(), end)));
  return names;
}

}  // namespace

Status IgnoreRules::addFolder(const std::string& path) {
  const std::string folder = path.empty() ? place_ : place_ + "/" + path;
  if (::mkdir(folder.c_str(), 0700) != 0) return base::kernelError("cannot make a private folder");
  return {};
}

Status IgnoreRules::addRules(const std::string& folder, std::string_view text) {
  const std::string path = place_ + "/" + (folder.empty() ? "" : folder + "/") + ".gitignore";
  auto file = base::openFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) return file.error();
  any_ = true;
  return base::writeAll(file->get(), text);
}

Result<std::unordered_set<std::string>> IgnoreRules::excluded(
    const std::vector<std::string>& paths) const {
  if (!any_ || paths.empty()) return std::unordered_set<std::string>();
  Command command = git_.command({"check-ignore", "--no-index", "--stdin", "-z"}, place_);
  std::size_t asked = 0;
  command.input = [&]() -> Result<std::string> {
    std::string piece;
    while (asked < paths.size() && piece.size() < 64 * 1024)
      piece.append(kHere).append(paths[asked++]) += '\0';
    return piece;
  };
  std::string answer;
  auto end = runCommand(command, git_.deadline, [&answer](std::string_view bytes) -> Status {
    answer += bytes;
    return {};
  });
  if (!end) return end.error();
  if (end->code > 1)  // 1: none is excluded
    return Error{Kind::Internal, "git check-ignore failed: " + firstLine(end->errors)};
  return splitNames(answer);
}

}  // namespace warder::report
