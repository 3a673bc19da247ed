#include "supervisor/report/artifacts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>

#include "supervisor/journal/digest.h"
#include "supervisor/report/beneath.h"
#include "supervisor/report/glob.h"

namespace warder::report {

using base::kernelError;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr std::size_t kMaxEntries = 1'000'000;  // looked at in one walk
constexpr std::size_t kMaxPath = 4000;          // PATH_MAX less what a name needs
constexpr const char* kTooLate = "the time for the harvest was over";
constexpr const char* kTooLarge = "would exceed results.max_size";

struct Candidate {
  std::string path;
  std::uint64_t size = 0;
};

struct Skip {
  std::string path, reason;
};

/// Walks the folders that a pattern may reach into, one open folder at a time.
class Walk {
 public:
  Walk(int workspace, const ArtifactOrder& order) : workspace_(workspace), order_(order) {
    for (const auto& pattern : order.globs) globs_.emplace_back(pattern);
    matched_.resize(globs_.size(), false);
  }
  void run();
  std::vector<Candidate> files;
  std::vector<Skip> skipped;

 private:
  using AllPlaces = std::vector<Glob::Places>;
  struct Folder {
    std::string path;  // empty for the workspace
    AllPlaces places;
  };
  void look(const Folder& folder);
  void take(const std::string& path, const struct stat& status, AllPlaces places);

  int workspace_;
  const ArtifactOrder& order_;
  std::vector<Glob> globs_;
  std::vector<bool> matched_;
  std::vector<Folder> todo_;
  std::size_t entries_ = 0;
};

void Walk::run() {
  Folder first;
  for (const auto& glob : globs_) first.places.push_back(glob.start());
  todo_.push_back(std::move(first));
  while (!todo_.empty()) {
    if (entries_ > kMaxEntries || std::chrono::steady_clock::now() > order_.deadline) {
      skipped.push_back({todo_.back().path, entries_ > kMaxEntries
                                                ? "too many files; folders were left out"
                                                : kTooLate});
      break;
    }
    const Folder folder = std::move(todo_.back());
    todo_.pop_back();
    look(folder);
  }
  for (std::size_t i = 0; i < globs_.size(); ++i)
    if (!matched_[i]) skipped.push_back({globs_[i].pattern(), "nothing matches this pattern"});
}

void Walk::look(const Folder& folder) {
  auto fd =
      openBeneath(workspace_, folder.path.empty() ? "." : folder.path, O_RDONLY | O_DIRECTORY);
  if (!fd) {
    skipped.push_back({folder.path, fd.error().sentence()});
    return;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd->get()), &::closedir);
  if (!entries) return;
  const int here = fd->release();  // now the stream's
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || ++entries_ > kMaxEntries) continue;
    AllPlaces places;
    bool meant = false;
    for (std::size_t i = 0; i < globs_.size(); ++i) {
      places.push_back(globs_[i].step(folder.places[i], name));
      meant = meant || globs_[i].mayGoOn(places.back());
    }
    struct stat status {};
    if (!meant || ::fstatat(here, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    take(folder.path.empty() ? name : folder.path + "/" + name, status, std::move(places));
  }
}

void Walk::take(const std::string& path, const struct stat& status, AllPlaces places) {
  bool accepted = false;
  for (std::size_t i = 0; i < globs_.size(); ++i) {
    if (!globs_[i].accepts(places[i])) continue;
    accepted = true;
    matched_[i] = true;
  }
  if (S_ISDIR(status.st_mode)) {
    if (path.size() <= kMaxPath)
      todo_.push_back({path, std::move(places)});
    else
      skipped.push_back({path.substr(0, kMaxPath), "its path is too long"});
  } else if (accepted && S_ISREG(status.st_mode)) {
    files.push_back({path, static_cast<std::uint64_t>(status.st_size)});
  } else if (accepted) {
    skipped.push_back({path, kindOf(status.st_mode)});
  }
}

bool sameState(const struct stat& a, const struct stat& b) {
  const auto state = [](const struct stat& s) {
    return std::tuple(s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec,
                      s.st_ctim.tv_nsec);
  };
  return state(a) == state(b);
}

/// The file's bytes, never more than were announced; `changed` when it did not keep still.
Status sendBytes(int file, const struct stat& before, HarvestSender& sender) {
  journal::HarvestEnd end;
  journal::Sha256 digest;
  std::vector<char> buffer(journal::kMaxHarvestData);
  auto left = static_cast<std::uint64_t>(before.st_size);
  while (left > 0) {
    const ssize_t count = ::read(file, buffer.data(), std::min<std::uint64_t>(left, buffer.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) end.note = std::string("reading stopped: ") + std::strerror(errno);
    if (count <= 0) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    digest.update(bytes);
    if (auto sent = sender.sendData(bytes); !sent) return sent;
    left -= bytes.size();
  }
  struct stat after {};
  end.changed = left > 0 || ::fstat(file, &after) != 0 || !sameState(before, after);
  end.sha256 = digest.hex();
  return sender.send(end);
}

/// Sends one file and takes its size from `room`; or says why not.
Status sendFile(int workspace, const std::string& path, std::uint64_t& room,
                HarvestSender& sender) {
  const auto skip = [&](const std::string& reason) {
    return sender.send(journal::HarvestSkipped{journal::encodePath(path), reason});
  };
  auto file = openBeneath(workspace, path, O_RDONLY);
  if (!file) return skip(file.error().sentence());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return skip("cannot be looked at");
  if (!S_ISREG(status.st_mode)) return skip(kindOf(status.st_mode));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > room) return skip(kTooLarge);
  room -= size;
  const auto mtime_ms = status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  const journal::HarvestFile head{journal::encodePath(path), size, status.st_mode & 07777u,
                                  mtime_ms};
  if (auto sent = sender.send(head); !sent) return sent;
  return sendBytes(file->get(), status, sender);
}

}  // namespace

Status sendArtifacts(const ArtifactOrder& order, HarvestSender& sender) {
  auto workspace = base::openFile(order.workspace, O_PATH | O_DIRECTORY);
  if (!workspace) return workspace.error();
  Walk walk(workspace->get(), order);
  walk.run();
  std::sort(walk.files.begin(), walk.files.end(), [](const auto& a, const auto& b) {
    return std::tie(a.size, a.path) < std::tie(b.size, b.path);
  });
  std::uint64_t room = order.max_size;
  for (const auto& file : walk.files) {
    const bool late = std::chrono::steady_clock::now() > order.deadline;
    auto sent = late
                    ? sender.send(journal::HarvestSkipped{journal::encodePath(file.path), kTooLate})
                    : sendFile(workspace->get(), file.path, room, sender);
    if (!sent) return sent;
  }
  for (const auto& skip : walk.skipped)
    if (auto sent =
            sender.send(journal::HarvestSkipped{journal::encodePath(skip.path), skip.reason});
        !sent)
      return sent;
  return {};
}

}  // namespace warder::report
