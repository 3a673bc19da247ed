#include "supervisor/report/work_tree_patch.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "supervisor/base/fd.h"
#include "supervisor/report/git_folder.h"
#include "supervisor/report/tree_import.h"
#include "supervisor/report/work_tree.h"

namespace warder::report {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr const char* kBefore = "before";  // branches of our own repository
constexpr const char* kAfter = "after";
constexpr std::size_t kLargestMemory = 512 << 20;  // of the names of a work tree
constexpr std::size_t kMaxNamed = 50;              // of what was left out
constexpr std::size_t kMaxNamedBytes = 12 * 1024;  // of them together

std::string memoryFile(const PatchOrder& order) {
  return order.private_dir + "/work-tree";
}
std::string reasonFile(const PatchOrder& order) {
  return order.private_dir + "/no-patch";
}

Status writeFile(const std::string& path, std::string_view text) {
  auto fd = base::openFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (!fd) return fd.error();
  return base::writeAll(fd->get(), text);
}

/// Stores the tree as a branch, and returns what it is.
Result<WorkTree> store(const GitFolder& git, const PatchOrder& order, const RememberedTree& before,
                       bool baseline) {
  auto workspace = base::openFile(order.workspace, O_PATH | O_DIRECTORY);
  if (!workspace) return workspace.error();
  const std::string branch = baseline ? kBefore : kAfter;
  const std::string copies = order.private_dir + "/rules-" + branch;
  auto tree = lookAtWorkTree(workspace->get(), before, IgnoreRules(git, copies), order.deadline);
  if (!tree) return tree.error();
  std::error_code ignored;
  std::filesystem::remove_all(copies, ignored);
  const ImportOrder import{workspace->get(), branch, baseline ? "" : kBefore};
  if (auto stored = importTree(git, import, *tree); !stored) return stored.error();
  return tree;
}

/// One record for each name: a letter, the name, for what was left out the reason; NUL after each.
std::string memoryOf(const WorkTree& tree) {
  std::unordered_map<std::string, const LeftOut*> left_out;
  std::string text;
  for (const auto& what : tree.left_out) {
    left_out[what.path] = &what;
    if (!what.special) text += (what.nested ? "N" : "L") + what.path + '\0' + what.reason + '\0';
  }
  for (const auto& path : tree.files)
    if (!left_out.contains(path)) text += "F" + path + '\0';
  return text;
}

/// What was remembered, or why there is nothing.
Result<RememberedTree> recall(const PatchOrder& order) {
  if (auto reason = base::readFile(reasonFile(order), 4096)) return Error{Kind::NotFound, *reason};
  auto text = base::readFile(memoryFile(order), kLargestMemory);
  if (!text) return Error{Kind::NotFound, "the work tree was not remembered before the agent ran"};
  RememberedTree tree;
  std::string_view rest = *text;
  const auto next = [&rest]() -> std::string {
    const auto end = std::min(rest.find('\0'), rest.size());
    std::string name(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return name;
  };
  while (!rest.empty()) {
    const std::string record = next();
    if (record.size() < 2) return Error{Kind::Internal, "the remembered work tree is not readable"};
    const std::string path = record.substr(1);
    if (record[0] == 'F')
      tree.addFile(path);
    else
      tree.left_out[path] = {path, next(), false, record[0] == 'N'};
  }
  return tree;
}

/// The end of the patch: what is not in it, counted, and named as far as there is room.
journal::HarvestEnd endOf(WorkTree& tree) {
  std::sort(tree.left_out.begin(), tree.left_out.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  journal::HarvestEnd end;
  end.left_out_count = tree.left_out.size();
  std::size_t repositories = 0, bytes = 0;
  for (const auto& what : tree.left_out) {
    repositories += what.nested;
    journal::HarvestSkipped named{journal::encodePath(what.path), what.reason};
    bytes += named.path.text.size() + named.reason.size();
    if (end.left_out.size() < kMaxNamed && bytes <= kMaxNamedBytes)
      end.left_out.push_back(std::move(named));
  }
  const auto note = [&end](std::size_t count, const char* what) {
    if (count > 0) end.note += (end.note.empty() ? "" : "; ") + std::to_string(count) + what;
  };
  note(repositories, " repositories inside the workspace were left out");
  note(tree.left_out.size() - repositories, " other paths were left out");
  note(tree.long_rules, " .gitignore files are longer than 1 MiB and were not applied");
  return end;
}

/// Streams the difference. Once the first byte is out, a failure can only cut it short.
Status streamPatch(const GitFolder& git, journal::HarvestEnd done, HarvestSender& sender) {
  if (auto sent = sender.send(journal::HarvestPatch{}); !sent) return sent;
  std::optional<Error> stream_lost;
  const Command diff = git.command(
      {"diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color",
       std::string("refs/heads/") + kBefore, std::string("refs/heads/") + kAfter, "--"});
  auto end = runCommand(diff, git.deadline, [&](std::string_view bytes) -> Status {
    auto sent = sender.sendData(bytes);
    if (!sent) stream_lost = sent.error();
    return sent;
  });
  if (stream_lost) return *stream_lost;
  if (!end || end->code != 0) {
    done.changed = true;  // the scribe throws it away: half a patch is none
    done.note = end ? "git diff failed: " + firstLine(end->errors) : end.error().sentence();
  }
  return sender.send(done);
}

Status makeBaseline(const PatchOrder& order) {
  const auto program = findGit();
  if (!program) return Error{Kind::NotFound, "there is no git in the box"};
  const GitFolder git{*program, order.private_dir, order.deadline};
  if (auto made = git.create(); !made) return made;
  auto tree = store(git, order, {}, true);
  if (!tree) return tree.error();
  return writeFile(memoryFile(order), memoryOf(*tree));
}

}  // namespace

Status rememberWorkTree(const PatchOrder& order) {
  const Status made = makeBaseline(order);
  return made ? Status() : writeFile(reasonFile(order), made.error().sentence());
}

Status sendPatch(const PatchOrder& order, HarvestSender& sender) {
  const auto none = [&sender](const Error& error) {
    return sender.send(journal::HarvestNoPatch{error.sentence()});
  };
  auto before = recall(order);
  if (!before) return none(before.error());
  const auto program = findGit();
  if (!program) return none(Error{Kind::NotFound, "there is no git in the box"});
  const GitFolder git{*program, order.private_dir, order.deadline};
  auto tree = store(git, order, *before, false);
  if (!tree) return none(tree.error());
  return streamPatch(git, endOf(*tree), sender);
}

}  // namespace warder::report
