#include "supervisor/report/work_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <memory>

#include "supervisor/base/fd.h"
#include "supervisor/report/beneath.h"

namespace warder::report {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxEntries = 1'000'000;  // looked at in one walk
constexpr std::size_t kMaxPath = 3000;          // PATH_MAX less what our own folder's name needs
constexpr std::size_t kMaxDepth = 200;          // git is asked once for each level
constexpr std::uint64_t kLargestRules = 1 << 20;

struct Entry {
  std::string path;
  struct stat status {};
};

/// The folder of a path, or an empty string.
std::string parentOf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// One level of folders after the other, so that git can judge a whole level at once.
class Look {
 public:
  Look(int workspace, const RememberedTree& before, IgnoreRules rules, Deadline deadline)
      : workspace_(workspace), before_(before), rules_(std::move(rules)), deadline_(deadline) {}
  Result<WorkTree> run();

 private:
  Status level(std::vector<std::string> folders);
  Status readFolder(const std::string& folder, std::vector<Entry>& entries);
  Status readRules(const std::string& folder, std::uint64_t size);
  void take(const Entry& entry, bool ignored);
  void takeFolder(const Entry& entry, bool ignored);
  void leaveOut(LeftOut what);
  void compare();
  bool staysAsItWas(const std::string& path) const;

  int workspace_;
  const RememberedTree& before_;
  IgnoreRules rules_;
  Deadline deadline_;
  WorkTree tree_;
  std::vector<std::string> next_;
  std::unordered_set<std::string> told_;  // paths in tree_.left_out that are no special files
  std::size_t entries_ = 0, depth_ = 0;
};

Result<WorkTree> Look::run() {
  if (auto added = rules_.addFolder(""); !added) return added.error();
  std::vector<std::string> folders{""};
  while (!folders.empty()) {
    if (auto looked = level(std::move(folders)); !looked) return looked.error();
    folders = std::move(next_);
    next_.clear();
    ++depth_;
  }
  compare();
  return std::move(tree_);
}

Status Look::level(std::vector<std::string> folders) {
  std::vector<Entry> entries;
  for (const auto& folder : folders) {
    if (std::chrono::steady_clock::now() > deadline_)
      return Error{Kind::Timeout, "there was not time enough to look at the work tree"};
    if (auto read = readFolder(folder, entries); !read) return read;
  }
  std::vector<std::string> paths;
  for (const auto& entry : entries) paths.push_back(entry.path);
  for (const auto& entry : entries)
    if (S_ISDIR(entry.status.st_mode))
      if (auto added = rules_.addFolder(entry.path); !added) return added;
  auto ignored = rules_.excluded(paths);
  if (!ignored) return ignored.error();
  for (const auto& entry : entries) take(entry, ignored->contains(entry.path));
  return {};
}

Status Look::readFolder(const std::string& folder, std::vector<Entry>& entries) {
  auto fd = openBeneath(workspace_, folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  if (!fd && folder.empty()) return fd.error();
  if (!fd) {
    leaveOut({folder, "the folder cannot be read"});
    return {};
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd->get()), &::closedir);
  if (!stream) return base::kernelError("cannot read a folder");
  const int here = fd->release();  // now the stream's
  const std::size_t first = entries.size();
  std::uint64_t rules = 0;
  while (const dirent* found = ::readdir(stream.get())) {
    const std::string name = found->d_name;
    if (name == "." || name == "..") continue;
    if (++entries_ > kMaxEntries) return Error{Kind::Timeout, "the work tree is too large"};
    if (name == ".git" && folder.empty()) continue;
    if (name == ".git") {
      entries.resize(first);
      leaveOut({folder, "is a repository of its own", false, true});
      return {};
    }
    Entry entry{folder.empty() ? name : folder + "/" + name, {}};
    if (::fstatat(here, name.c_str(), &entry.status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (entry.path.size() > kMaxPath) {
      if (!told_.contains(folder)) leaveOut({folder, "holds paths that are too long"});
      continue;
    }
    if (name == ".gitignore" && S_ISREG(entry.status.st_mode))
      rules = static_cast<std::uint64_t>(entry.status.st_size);
    entries.push_back(std::move(entry));
  }
  return rules > 0 ? readRules(folder, rules) : Status();
}

/// Only a regular file comes here, and what it became meanwhile is not waited for.
Status Look::readRules(const std::string& folder, std::uint64_t size) {
  if (size > kLargestRules) {
    ++tree_.long_rules;
    return {};
  }
  auto file =
      openBeneath(workspace_, (folder.empty() ? "" : folder + "/") + ".gitignore", O_RDONLY);
  if (!file) return {};  // it is left out, with its reason, when its bytes are wanted
  auto text = base::readAll(file->get(), kLargestRules);
  return text ? rules_.addRules(folder, *text) : Status();
}

void Look::take(const Entry& entry, bool ignored) {
  const mode_t mode = entry.status.st_mode;
  if (S_ISDIR(mode)) return takeFolder(entry, ignored);
  const auto again = before_.left_out.find(entry.path);
  if (again != before_.left_out.end()) return leaveOut(again->second);
  if (ignored && !before_.files.contains(entry.path)) return;
  if (!S_ISREG(mode) && !S_ISLNK(mode)) return leaveOut({entry.path, kindOf(mode), true});
  if (S_ISREG(mode) && static_cast<std::uint64_t>(entry.status.st_size) > kLargestInPatch)
    return leaveOut({entry.path, "is larger than 64 MiB"});
  tree_.files.push_back(entry.path);
}

void Look::takeFolder(const Entry& entry, bool ignored) {
  const auto again = before_.left_out.find(entry.path);
  if (again != before_.left_out.end()) return leaveOut(again->second);
  if (ignored && !before_.folders.contains(entry.path)) return;
  if (depth_ >= kMaxDepth) return leaveOut({entry.path, "is too deep"});
  next_.push_back(entry.path);
}

void Look::leaveOut(LeftOut what) {
  if (!what.special) told_.insert(what.path);
  tree_.left_out.push_back(std::move(what));
}

/// The path, or a folder of it, was left out now.
bool Look::staysAsItWas(const std::string& path) const {
  for (std::string at = path; !at.empty(); at = parentOf(at))
    if (told_.contains(at)) return true;
  return false;
}

void Look::compare() {
  const std::unordered_set<std::string> here(tree_.files.begin(), tree_.files.end());
  for (const auto& path : before_.files)
    if (!here.contains(path) && !staysAsItWas(path)) tree_.removed.push_back(path);
  for (const auto& [path, what] : before_.left_out)
    if (!staysAsItWas(path)) leaveOut({path, what.reason + "; it is not there any more"});
}

}  // namespace

void RememberedTree::addFile(const std::string& path) {
  files.insert(path);
  for (std::string at = parentOf(path); !at.empty() && folders.insert(at).second;)
    at = parentOf(at);
}

Result<WorkTree> lookAtWorkTree(int workspace, const RememberedTree& before, IgnoreRules rules,
                                Deadline deadline) {
  return Look(workspace, before, std::move(rules), deadline).run();
}

}  // namespace warder::report
