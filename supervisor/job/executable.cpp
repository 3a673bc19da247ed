#include "supervisor/job/executable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "supervisor/base/fault.h"
#include "supervisor/base/fd.h"
#include "supervisor/job/box_view.h"
#include "supervisor/job/fields.h"
#include "supervisor/job/job_files.h"
#include "supervisor/job/program_format.h"

namespace warder::job {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::inQuotes;
using base::Kind;
using base::Result;
using base::Status;

// Scripts whose interpreter is a script; as the kernel (exec_binprm in fs/exec.c).
constexpr int kMostInterpreters = 5;

/// Loaders that tell which C library a root has.
constexpr const char* kLoaders[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
                                    "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"};

bool isName(const std::string& word) {
  return word.find('/') == std::string::npos;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

class Finder {
 public:
  explicit Finder(const JobSpec& job) : job_(job), view_(job), folders_(searchFolders(job)) {}

  Result<std::string> find() const {
    std::string tried;
    bool by_name = false;
    for (const std::string& name : job_.agent.executables) {
      const std::string what = "the agent's program " + inQuotes(name);
      for (const std::string& place : placesOf(name)) {
        if (!view_.names(place)) continue;
        if (auto sound = checkProgram(place, what, 0); !sound) return sound.error();
        return place;
      }
      by_name = by_name || isName(name);
      tried += (tried.empty() ? "" : ", ") + inQuotes(name);
    }
    return Error{
        Kind::NotFound,
        "the agent's program " + tried + " is not there" + (by_name ? whereToPut() : std::string()),
        0};
  }

 private:
  /// Names of the box under which the program may be, in order.
  std::vector<std::string> placesOf(const std::string& name) const {
    if (!isName(name)) return {absolutePath(view_.workingFolder(), name)};
    std::vector<std::string> places;
    for (const std::string& folder : folders_) places.push_back(folder + "/" + name);
    for (const std::string& shown : job_.agent.read_only) {
      if (fs::path(shown).filename() == name) places.push_back(shown);
      places.push_back(shown + "/" + name);
      places.push_back(shown + "/node_modules/.bin/" + name);
    }
    return places;
  }

  std::string whereToPut() const {
    const bool own_path = job_.agent.env.count("PATH") > 0;
    if (folders_.empty() && own_path)
      return "; agent.env.PATH is empty, so nothing is found by its name: leave PATH out, or name "
             "the program with its full path";
    std::string text = "; looked in " + joined(folders_);
    if (own_path) text += " (agent.env.PATH)";
    if (job_.agent.root == "/") return text;
    text += " and agent.read_only; name it with agent.executable";
    return text + (job_.agent.root.empty() ? " and show its folder with agent.read_only"
                                           : " or install it in agent.rootfs");
  }

  Status checkProgram(const std::string& in_box, const std::string& what, int depth) const {
    const auto found = view_.follow(in_box, what);
    if (!found) return found.error();
    if (auto mode = checkMode(*found, what); !mode) return mode;
    const auto file = base::openFile(found->here, O_RDONLY | O_NOCTTY);
    if (!file) return file.error().during(what);
    const auto format = readProgramFormat([&](std::uint64_t offset, std::size_t size) {
      std::string bytes(size, '\0');
      const ssize_t count = ::pread(file->get(), bytes.data(), size, static_cast<off_t>(offset));
      bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
      return bytes;
    });
    if (!format)
      return Error{Kind::Config, what + ": " + found->in_box + " " + format.error().doing, 0};
    if (!format->is_script) return checkLoader(*format, found->in_box, what);
    if (depth == kMostInterpreters)
      return Error{Kind::Config, what + ": its interpreters are scripts of scripts", 0};
    const std::string script = "the interpreter of " + what;
    // A relative one is looked for in the working folder, as the kernel does.
    const std::string interpreter = absolutePath(view_.workingFolder(), format->interpreter);
    if (!view_.names(interpreter))
      return Error{Kind::NotFound,
                   what + ": " + found->in_box + " is a script for " + format->interpreter +
                       ", which is not in the box; install it, or name another in the first line",
                   0};
    if (auto sound = checkProgram(interpreter, script, depth + 1); !sound) return sound;
    return checkLookedUp(*format, found->in_box, what);
  }

  /// "#!/usr/bin/env node" looks "node" up again.
  Status checkLookedUp(const ProgramFormat& format, const std::string& script,
                       const std::string& what) const {
    if (fs::path(format.interpreter).filename() != "env") return {};
    std::istringstream words(format.argument);
    std::string word;
    if (!(words >> word)) return {};
    if ((word == "-S" || word == "--split-string") && !(words >> word)) return {};
    if (word.front() == '-' || word.find('=') != std::string::npos || !isName(word)) return {};
    for (const std::string& folder : folders_) {
      if (view_.follow(folder + "/" + word, what)) return {};
    }
    const std::string looked = folders_.empty() ? "and agent.env.PATH is empty"
                                                : "which is not in " + joined(folders_) +
                                                      "; install it, or extend "
                                                      "agent.env.PATH";
    return Error{Kind::NotFound,
                 what + ": " + script + " is a script for " + inQuotes(word) + ", " + looked, 0};
  }

  Status checkLoader(const ProgramFormat& format, const std::string& program,
                     const std::string& what) const {
    if (format.interpreter.empty()) return {};
    const auto loader = view_.follow(format.interpreter, what);
    if (loader) return checkMode(*loader, "the loader of " + what);
    if (loader.error().kind != Kind::NotFound) return loader.error();
    std::string sentence = what + ": " + program + " needs the loader " + format.interpreter +
                           ", which is not in the box";
    const std::string wanted = libraryOfLoader(format.interpreter);
    if (!wanted.empty()) sentence += "; it is built for " + wanted;
    for (const char* known : kLoaders) {
      const std::string has = libraryOfLoader(known);
      if (has == wanted || !view_.follow(known, what)) continue;
      return Error{Kind::NotFound,
                   sentence + " and this root has " + has + ": take its build for " + has, 0};
    }
    return Error{Kind::NotFound,
                 sentence + "; install that loader, or take a static build of the program", 0};
  }

  Status checkMode(const BoxView::Found& found, const std::string& what) const {
    const std::string& real = found.here;
    struct stat file {};
    if (::stat(real.c_str(), &file) != 0) return base::kernelError(what + ": " + real);
    if (!S_ISREG(file.st_mode))
      return Error{Kind::Config, what + ": " + real + " is no regular file", 0};
    if (!mayExecute(real, file))
      return Error{Kind::Config,
                   what + ": " + real + " is not executable for uid " +
                       std::to_string(job_.agent.user.uid) + "; chmod +x it",
                   0};
    struct statvfs mounted {};
    if (::statvfs(real.c_str(), &mounted) == 0 && (mounted.f_flag & ST_NOEXEC) != 0)
      return Error{Kind::Config,
                   what + ": " + real + " lies on a file system that is mounted noexec", 0};
    return {};
  }

  bool mayExecute(const std::string& real, const struct stat& file) const {
    const User& user = job_.agent.user;
    // Without a uid of its own the agent has the caller's rights.
    if (!hasOwnUid(user)) return ::access(real.c_str(), X_OK) == 0;
    // The workspace is shown as the agent's own, whoever owns it here; in place it is not.
    const bool owned = job_.agent.root != "/" && isBelow(real, job_.agent.workspace);
    if (owned) return (file.st_mode & S_IXUSR) != 0;
    if (user.uid == 0) return (file.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
    if (file.st_uid == user.uid) return (file.st_mode & S_IXUSR) != 0;
    if (file.st_gid == user.gid) return (file.st_mode & S_IXGRP) != 0;
    return (file.st_mode & S_IXOTH) != 0;
  }

  const JobSpec& job_;
  BoxView view_;
  std::vector<std::string> folders_;
};

}  // namespace

std::vector<std::string> searchFolders(const JobSpec& job) {
  const auto own = job.agent.env.find("PATH");
  if (own == job.agent.env.end()) return job.agent.path;
  std::vector<std::string> folders;
  const std::string base = job.agent.root == "/" ? job.agent.workspace : kWorkspaceInBox;
  std::istringstream parts(own->second);
  for (std::string part; std::getline(parts, part, ':');) {
    // An empty one means the working folder to some programs and nothing to others; it is left out.
    if (!part.empty()) folders.push_back(absolutePath(base, part));
  }
  return folders;
}

Result<std::string> resolveExecutable(const JobSpec& job) {
  return Finder(job).find();
}

}  // namespace warder::job
