#include "supervisor/report/git_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "supervisor/base/fd.h"

namespace warder::report {

using base::Error;
using base::Kind;
using base::Status;

namespace {

constexpr std::array kGitPlaces = {"/usr/bin/git", "/bin/git", "/usr/local/bin/git"};
// In a bare repository these are the only attributes. Source: gitattributes(5).
constexpr std::string_view kAttributes =
    "* -text -filter -ident -working-tree-encoding -merge !diff !eol !crlf\n";

}  // namespace

std::optional<std::string> findGit() {
  for (const char* place : kGitPlaces)
    if (::access(place, X_OK) == 0) return place;
  return std::nullopt;
}

std::string firstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Command GitFolder::command(std::vector<std::string> arguments, const std::string& work_tree) const {
  Command command;
  command.program = program;
  command.folder = work_tree.empty() ? folder : work_tree;
  command.environment = {"GIT_DIR=" + folder + "/git",
                         "HOME=" + folder,
                         "XDG_CONFIG_HOME=" + folder,
                         "GIT_CONFIG_NOSYSTEM=1",
                         "GIT_CONFIG_GLOBAL=/dev/null",
                         "GIT_ATTR_NOSYSTEM=1",
                         "GIT_NO_LAZY_FETCH=1",
                         "GIT_NO_REPLACE_OBJECTS=1",
                         "GIT_TERMINAL_PROMPT=0",
                         "GIT_ALLOW_PROTOCOL=none",
                         "LC_ALL=C",
                         "PATH=/usr/bin:/bin:/usr/local/bin"};
  if (!work_tree.empty()) command.environment.push_back("GIT_WORK_TREE=" + work_tree);
  for (const char* setting :
       {"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false",
        "core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.protectNTFS=false",
        "core.protectHFS=false", "core.compression=1", "pack.compression=1",
        "fastimport.unpackLimit=1", "gc.auto=0", "maintenance.auto=false"}) {
    command.arguments.push_back("-c");
    command.arguments.push_back(setting);
  }
  for (auto& argument : arguments) command.arguments.push_back(std::move(argument));
  return command;
}

Status GitFolder::run(Command command) const {
  auto end = runCommand(command, deadline, [](std::string_view) -> Status { return {}; });
  if (!end) return end.error();
  if (end->code != 0) return Error{Kind::Internal, "git failed: " + firstLine(end->errors)};
  return {};
}

Status GitFolder::create() const {
  if (auto made = run(command({"init", "--quiet", "--bare", "--template="})); !made) return made;
  const std::string info = folder + "/git/info";
  if (::mkdir(info.c_str(), 0700) != 0 && errno != EEXIST)
    return base::kernelError("cannot make " + info);
  auto file = base::openFile(info + "/attributes", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file) return file.error();
  return base::writeAll(file->get(), kAttributes);
}

}  // namespace warder::report
