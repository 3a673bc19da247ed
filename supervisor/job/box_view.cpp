#include "supervisor/job/box_view.h"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "supervisor/job/fields.h"
#include "supervisor/job/job_files.h"

namespace warder::job {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Kind;
using base::Result;

// What launch/box_root.cpp shows of the machine and programs may live behind.
constexpr const char* kPrograms[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                     "/lib32", "/lib64", "/libx32", "/etc/alternatives"};
constexpr int kMostLinks = 40;  // as the kernel, path_resolution(7)

bool leadsTo(const std::string& path, const std::string& goal) {
  return path != goal && isBelow(goal, path);
}

std::deque<std::string> partsOf(const std::string& path) {
  std::deque<std::string> parts;
  for (const fs::path& part : fs::path(path)) {
    if (part != "/" && part != "." && !part.empty()) parts.push_back(part.string());
  }
  return parts;
}

std::string joined(const std::string& at, const std::deque<std::string>& rest) {
  std::string path = at;
  for (const std::string& part : rest) path += "/" + part;
  return path.empty() ? "/" : path;
}

bool isFolder(const std::string& path) {
  struct stat file {};
  return ::lstat(path.c_str(), &file) == 0 && S_ISDIR(file.st_mode);
}

}  // namespace

bool isBelow(const std::string& path, const std::string& folder) {
  if (folder.empty()) return false;
  return path == folder || path.rfind(folder == "/" ? folder : folder + "/", 0) == 0;
}

BoxView::BoxView(const JobSpec& job)
    : job_(job),
      image_(job.agent.root),
      working_folder_(image_ == "/" ? job.agent.workspace : kWorkspaceInBox),
      own_uid_(hasOwnUid(job.agent.user)) {
  if (image_.empty() || image_ == "/") return;
  std::error_code failure;
  const std::string real = fs::canonical(image_, failure).string();
  if (!failure) image_ = real;
}

bool BoxView::leadsToGraft(const std::string& in_box) const {
  const auto leads = [&](const std::string& goal) { return leadsTo(in_box, goal); };
  return leads(kWorkspaceInBox) ||
         std::any_of(job_.agent.read_only.begin(), job_.agent.read_only.end(), leads);
}

BoxView::Spot BoxView::spotOf(const std::string& in_box) const {
  if (image_ == "/") return {Kind::Shown, in_box};
  const std::string workspace = kWorkspaceInBox;
  if (isBelow(in_box, workspace))
    return {Kind::Shown, job_.agent.workspace + in_box.substr(workspace.size())};
  for (const std::string& shown : job_.agent.read_only) {
    if (isBelow(in_box, shown)) return {Kind::Shown, in_box};
  }
  if (leadsToGraft(in_box)) return {Kind::Made, in_box};
  return image_.empty() ? spotOfMachine(in_box) : spotOfImage(in_box);
}

BoxView::Spot BoxView::spotOfMachine(const std::string& in_box) const {
  for (const char* shown : kPrograms) {
    if (isBelow(in_box, shown)) return {Kind::Shown, in_box};
    if (leadsTo(in_box, shown)) return {Kind::Made, in_box};
  }
  return {Kind::Hidden, in_box};
}

BoxView::Spot BoxView::spotOfImage(const std::string& in_box) const {
  for (const char* own : kOwnPlaces) {
    if (isBelow(in_box, own)) return {Kind::Hidden, in_box};
    if (leadsTo(in_box, own)) return {Kind::Made, image_ + in_box};
  }
  // A folder that the box makes has the image's files only where the image has a folder too.
  std::string folder;
  for (const std::string& part : partsOf(fs::path(in_box).parent_path().string())) {
    folder += "/" + part;
    const bool made =
        leadsToGraft(folder) || std::any_of(std::begin(kOwnPlaces), std::end(kOwnPlaces),
                                            [&](const char* own) { return leadsTo(folder, own); });
    if (!made) break;
    if (!isFolder(image_ + folder)) return {Kind::Hidden, in_box};
  }
  return {Kind::Shown, image_ + in_box};
}

Result<BoxView::Found> BoxView::walk(const std::string& in_box, const Walk& how) const {
  std::deque<std::string> rest = partsOf(in_box);
  std::string at;
  int links = 0;
  while (!rest.empty()) {
    const std::string name = rest.front();
    rest.pop_front();
    if (name == "..") {
      if (!at.empty()) at.resize(at.rfind('/'));
      continue;
    }
    const std::string next = at + "/" + name;
    const Spot spot = spotOf(next);
    if (spot.kind == Kind::Hidden) return hidden(joined(next, rest), how.what);
    struct stat file {};
    const bool there = spot.kind == Kind::Made || ::lstat(spot.here.c_str(), &file) == 0;
    if (!there)
      return Error{base::Kind::NotFound, how.what + ": " + joined(next, rest) + " is not there"};
    if (S_ISLNK(file.st_mode) && (how.follow_last || !rest.empty())) {
      if (++links > kMostLinks)
        return Error{base::Kind::Config, how.what + ": " + in_box + " is a loop of links"};
      std::error_code failure;
      const std::string target = fs::read_symlink(spot.here, failure).string();
      if (failure) return Error{base::Kind::NotFound, how.what + ": cannot read the link " + next};
      const auto parts = partsOf(target);
      rest.insert(rest.begin(), parts.begin(), parts.end());
      if (target.front() == '/') at.clear();
      continue;
    }
    if (S_ISDIR(file.st_mode) && !rest.empty() && !mayEnter(spot.here))
      return Error{base::Kind::Config, how.what + ": uid " + std::to_string(job_.agent.user.uid) +
                                           " may not enter the folder " + spot.here +
                                           "; open it with chmod o+x"};
    at = next;
  }
  return Found{at.empty() ? "/" : at, spotOf(at.empty() ? "/" : at).here};
}

Result<BoxView::Found> BoxView::follow(const std::string& in_box, const std::string& what) const {
  return walk(in_box, {what, true});
}

bool BoxView::names(const std::string& in_box) const {
  const auto found = walk(in_box, {"", false});
  if (found) return true;
  if (found.error().kind == base::Kind::NotFound) return false;
  // Hidden, a loop on the way, or closed: `follow` tells which, if the file is there at all.
  struct stat ignored {};
  return ::lstat(in_box.c_str(), &ignored) == 0 ||
         (!image_.empty() && ::lstat((image_ + in_box).c_str(), &ignored) == 0);
}

Error BoxView::hidden(const std::string& path, const std::string& what) const {
  if (image_.empty())
    return {base::Kind::Config, what + " is " + path + ", which the box does not show; add " +
                                    fs::path(path).parent_path().string() + " to agent.read_only"};
  return {base::Kind::Config, what + " is " + path +
                                  ", where the box has files of its own and none of agent.rootfs; "
                                  "move it to another folder of the image"};
}

/// The workspace is shown as the agent's own, and folders that the box makes are open to all.
bool BoxView::mayEnter(const std::string& folder) const {
  const job::User& user = job_.agent.user;
  struct stat file {};
  const bool mapped = image_ != "/" && isBelow(folder, job_.agent.workspace);
  if (!own_uid_ || user.uid == 0 || mapped) return true;
  if (::stat(folder.c_str(), &file) != 0) return true;
  if (file.st_uid == user.uid) return (file.st_mode & S_IXUSR) != 0;
  if (file.st_gid == user.gid) return (file.st_mode & S_IXGRP) != 0;
  return (file.st_mode & S_IXOTH) != 0;
}

}  // namespace warder::job
