#include "supervisor/report/work_tree_patch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "supervisor/base/fd.h"

namespace warder::report {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;
namespace fs = std::filesystem;

namespace {

constexpr std::array kGitPlaces = {"/usr/bin/git", "/bin/git", "/usr/local/bin/git"};
constexpr std::size_t kMaxEntries = 2'000'000;
constexpr std::size_t kMaxTreeId = 128;
// Unset whatever the work tree's own .gitattributes say: $GIT_DIR/info/attributes comes first.
// Source: gitattributes(5).
constexpr std::string_view kAttributes =
    "* -text -filter -ident -working-tree-encoding -merge !diff !eol !crlf\n";

std::optional<std::string> findGit() {
  for (const char* place : kGitPlaces)
    if (::access(place, X_OK) == 0) return place;
  return std::nullopt;
}

std::string gitDir(const PatchOrder& order) {
  return order.private_dir + "/git";
}
std::string baselineFile(const PatchOrder& order) {
  return order.private_dir + "/baseline";
}
std::string reasonFile(const PatchOrder& order) {
  return order.private_dir + "/no-patch";
}

struct Git {
  const PatchOrder& order;
  std::string program;
};

Command gitCommand(const Git& git, std::vector<std::string> arguments) {
  const PatchOrder& order = git.order;
  Command command;
  command.program = git.program;
  command.folder = order.workspace;
  command.environment = {"GIT_DIR=" + gitDir(order),
                         "GIT_WORK_TREE=" + order.workspace,
                         "HOME=" + order.private_dir,
                         "XDG_CONFIG_HOME=" + order.private_dir,
                         "GIT_CONFIG_NOSYSTEM=1",
                         "GIT_CONFIG_GLOBAL=/dev/null",
                         "GIT_ATTR_NOSYSTEM=1",
                         "GIT_NO_LAZY_FETCH=1",
                         "GIT_NO_REPLACE_OBJECTS=1",
                         "GIT_TERMINAL_PROMPT=0",
                         "GIT_ALLOW_PROTOCOL=none",
                         "LC_ALL=C",
                         "PATH=/usr/bin:/bin:/usr/local/bin"};
  for (const char* setting :
       {"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false",
        "core.autocrlf=false", "core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
        "core.protectNTFS=false", "core.protectHFS=false", "core.compression=1", "gc.auto=0",
        "maintenance.auto=false", "add.ignoreErrors=true"}) {
    command.arguments.push_back("-c");
    command.arguments.push_back(setting);
  }
  for (auto& argument : arguments) command.arguments.push_back(std::move(argument));
  return command;
}

std::string firstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Runs git; a failure becomes one sentence.
Result<std::string> runGit(const Git& git, std::vector<std::string> arguments) {
  const std::string what = "git " + arguments.front();
  std::string output;
  auto end = runCommand(gitCommand(git, std::move(arguments)), git.order.deadline,
                        [&output](std::string_view bytes) -> Status {
                          output += bytes.substr(0, kMaxTreeId - output.size());
                          return {};
                        });
  if (!end) return end.error();
  if (end->code != 0) return Error{Kind::Internal, what + " failed: " + firstLine(end->errors)};
  return output;
}

struct Nested {
  std::string excludes;  // lines for $GIT_DIR/info/exclude
  std::size_t count = 0;
};

/// Repositories inside the work tree. git would record them as bare ids, and to find out whether
/// they changed it would run what their own configuration says: they are left out, and counted.
Result<Nested> findNested(const PatchOrder& order) {
  Nested nested;
  std::error_code failure;
  fs::recursive_directory_iterator at(order.workspace,
                                      fs::directory_options::skip_permission_denied, failure);
  std::size_t entries = 0;
  for (const fs::recursive_directory_iterator end; !failure && at != end; at.increment(failure)) {
    if (++entries > kMaxEntries || std::chrono::steady_clock::now() > order.deadline)
      return Error{Kind::Timeout, "the work tree is too large"};
    if (at->path().filename() != ".git") continue;
    std::error_code unknown;
    if (at->is_directory(unknown) && !at->is_symlink(unknown)) at.disable_recursion_pending();
    const std::string folder = at->path().parent_path().lexically_relative(order.workspace);
    if (folder == ".") continue;
    if (folder.find('\n') != std::string::npos)
      return Error{Kind::Config, "a repository inside the work tree has a line feed in its name"};
    nested.excludes += '/';
    for (const char c : folder) {
      if (std::string_view("*?[\\! #").find(c) != std::string_view::npos) nested.excludes += '\\';
      nested.excludes += c;
    }
    nested.excludes += "/\n";
    ++nested.count;
  }
  if (failure) return Error{Kind::Kernel, "cannot walk the work tree", failure.value()};
  return nested;
}

Status writeFile(const std::string& path, std::string_view text) {
  auto fd = base::openFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (!fd) return fd.error();
  return base::writeAll(fd->get(), text);
}

/// Brings our index up to the work tree. Returns what had to be left out, or nothing.
Result<std::string> addAll(const Git& git) {
  const PatchOrder& order = git.order;
  auto nested = findNested(order);
  if (!nested) return nested.error();
  if (auto written = writeFile(gitDir(order) + "/info/exclude", nested->excludes); !written)
    return written.error();
  auto end = runCommand(gitCommand(git, {"add", "-A"}), order.deadline,
                        [](std::string_view) -> Status { return {}; });
  if (!end) return end.error();
  if (end->code > 1) return Error{Kind::Internal, "git add failed: " + firstLine(end->errors)};
  std::string note;
  if (end->code == 1) note = "not everything could be read: " + firstLine(end->errors);
  if (nested->count > 0)
    note += (note.empty() ? "" : "; ") + std::to_string(nested->count) +
            " repositories inside the workspace were left out";
  return note;
}

Result<std::string> makeBaseline(const Git& git) {
  auto made = runGit(git, {"init", "--quiet", "--template="});
  if (!made) return made.error();
  const std::string info = gitDir(git.order) + "/info";
  if (::mkdir(info.c_str(), 0700) != 0 && errno != EEXIST)
    return base::kernelError("cannot make " + info);
  if (auto written = writeFile(info + "/attributes", kAttributes); !written) return written.error();
  if (auto added = addAll(git); !added) return added.error();
  auto tree = runGit(git, {"write-tree"});
  if (!tree) return tree.error();
  return firstLine(*tree);
}

/// The id of the tree that was remembered, or why there is none.
Result<std::string> readBaseline(const PatchOrder& order) {
  if (auto reason = base::readFile(reasonFile(order), 4096)) return Error{Kind::NotFound, *reason};
  auto tree = base::readFile(baselineFile(order), kMaxTreeId);
  if (!tree) return Error{Kind::NotFound, "the work tree was not remembered before the agent ran"};
  const bool sound = tree->size() >= 40 && std::all_of(tree->begin(), tree->end(), [](char c) {
                       return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                     });
  if (!sound) return Error{Kind::Internal, "the remembered work tree is not readable"};
  return *tree;
}

/// Streams the difference. Once the first byte is out, a failure can only cut it short.
Status streamPatch(const Git& git, const std::string& tree, const std::string& note,
                   HarvestSender& sender) {
  if (auto sent = sender.send(journal::HarvestPatch{}); !sent) return sent;
  std::optional<Error> stream_lost;
  auto end = runCommand(gitCommand(git, {"diff", "--cached", "--binary", "--full-index",
                                         "--no-ext-diff", "--no-textconv", "--no-color", tree}),
                        git.order.deadline, [&](std::string_view bytes) -> Status {
                          auto sent = sender.sendData(bytes);
                          if (!sent) stream_lost = sent.error();
                          return sent;
                        });
  if (stream_lost) return *stream_lost;
  journal::HarvestEnd done;
  done.note = note;
  if (!end || end->code != 0) {
    done.changed = true;  // the scribe throws it away: half a patch is none
    done.note = end ? "git diff failed: " + firstLine(end->errors) : end.error().sentence();
  }
  return sender.send(done);
}

}  // namespace

Status rememberWorkTree(const PatchOrder& order) {
  const auto git = findGit();
  auto tree = git ? makeBaseline({order, *git})
                  : Result<std::string>(Error{Kind::NotFound, "there is no git in the box"});
  if (!tree) return writeFile(reasonFile(order), tree.error().sentence());
  return writeFile(baselineFile(order), *tree);
}

Status sendPatch(const PatchOrder& order, HarvestSender& sender) {
  const auto none = [&sender](const Error& error) {
    return sender.send(journal::HarvestNoPatch{error.sentence()});
  };
  auto tree = readBaseline(order);
  if (!tree) return none(tree.error());
  const auto program = findGit();
  if (!program) return none(Error{Kind::NotFound, "there is no git in the box"});
  const Git git{order, *program};
  auto note = addAll(git);
  if (!note) return none(note.error());
  return streamPatch(git, *tree, *note, sender);
}

}  // namespace warder::report
