#include "supervisor/job/executable.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>

#include "supervisor/base/fault.h"
#include "supervisor/base/fd.h"
#include "supervisor/job/fields.h"
#include "supervisor/job/job_files.h"

namespace warder::job {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::inQuotes;
using base::Kind;

// What launch/box_root.cpp shows of the machine and programs may live behind.
constexpr const char* kShown[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                  "/lib32", "/lib64", "/libx32", "/etc/alternatives"};
constexpr int kMostLinks = 40;  // as the kernel, path_resolution(7)

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
#error "the agent's architecture is not known"
#endif

bool isBelow(const std::string& path, const std::string& folder) {
  if (folder.empty()) return false;
  return path == folder || path.rfind(folder == "/" ? folder : folder + "/", 0) == 0;
}

/// A file as this machine and as the box name it.
struct Place {
  std::string here;
  std::string in_box;
};

bool exists(const std::string& path) {
  struct stat ignored {};
  return ::lstat(path.c_str(), &ignored) == 0;
}

/// "/workspace/x" of the box is WORKSPACE/x here.
Place placeOf(const JobSpec& job, const std::string& in_box) {
  const std::string shown_at = kWorkspaceInBox;
  if (!isBelow(in_box, shown_at)) return {in_box, in_box};
  return {job.agent.workspace + in_box.substr(shown_at.size()), in_box};
}

std::vector<Place> candidates(const JobSpec& job, const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return {placeOf(job, absolutePath(kWorkspaceInBox, name))};
  }
  std::vector<std::string> paths;
  for (const char* folder : kProgramFolders) paths.push_back(std::string(folder) + "/" + name);
  for (const std::string& shown : job.agent.read_only) {
    if (fs::path(shown).filename() == name) paths.push_back(shown);
    paths.push_back(shown + "/" + name);
    paths.push_back(shown + "/node_modules/.bin/" + name);
  }
  std::vector<Place> places;
  for (const std::string& path : paths) places.push_back({path, path});
  return places;
}

Error notVisible(const std::string& what, const std::string& path) {
  return {Kind::Config, what + " is " + path + ", which the box does not show; add " +
                            fs::path(path).parent_path().string() + " to agent.read_only"};
}

/// Follows the last component's links one by one; all stops must be visible.
base::Result<std::string> followVisibly(const JobSpec& job, const std::string& path,
                                        const std::string& what) {
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    if (!isVisible(job, at)) return notVisible(what, at);
    std::error_code failure;
    if (!fs::is_symlink(fs::symlink_status(at, failure))) {
      const std::string real = fs::canonical(at, failure).string();
      if (failure) return Error{Kind::NotFound, what + ": " + at + " is not there", 0};
      if (!isVisible(job, real)) return notVisible(what, real);
      return real;
    }
    const fs::path target = fs::read_symlink(at, failure);
    if (failure) return Error{Kind::NotFound, what + ": cannot read the link " + at, 0};
    at = absolutePath(fs::path(at).parent_path().string(), target.string());
  }
  return Error{Kind::Config, what + ": " + path + " is a loop of links", 0};
}

bool mayExecute(const struct stat& file, const User& user) {
  if (user.uid == 0) return (file.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
  if (file.st_uid == user.uid) return (file.st_mode & S_IXUSR) != 0;
  if (file.st_gid == user.gid) return (file.st_mode & S_IXGRP) != 0;
  return (file.st_mode & S_IXOTH) != 0;
}

base::Status checkMode(const JobSpec& job, const std::string& real, const std::string& what) {
  struct stat file {};
  if (::stat(real.c_str(), &file) != 0) return base::kernelError(what + ": " + real);
  if (!S_ISREG(file.st_mode)) {
    return Error{Kind::Config, what + ": " + real + " is no regular file", 0};
  }
  // The workspace is shown as the agent's own, whoever owns it here.
  const bool owned = isBelow(real, job.agent.workspace);
  // Without a uid of its own the agent has the caller's rights.
  const bool shares = !hasOwnUid(job.agent.user);
  const bool fine = shares  ? ::access(real.c_str(), X_OK) == 0
                    : owned ? (file.st_mode & S_IXUSR) != 0
                            : mayExecute(file, job.agent.user);
  if (!fine) {
    return Error{
        Kind::Config,
        what + ": " + real + " is not executable for uid " + std::to_string(job.agent.user.uid), 0};
  }
  return {};
}

/// The interpreter of a script and, for env, the program that it looks up.
base::Status checkScript(const JobSpec& job, std::string line, const std::string& what) {
  line = line.substr(0, line.find('\n'));
  std::vector<std::string> words;
  for (std::size_t at = 2; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    at = end + 1;
  }
  if (words.empty()) return Error{Kind::Config, what + " begins with #! and no interpreter", 0};
  const std::string name = "the interpreter of " + what;
  const auto interpreter = followVisibly(job, placeOf(job, words[0]).here, name);
  if (!interpreter) return interpreter.error();
  if (fs::path(words[0]).filename() != "env" || words.size() < 2) return {};
  if (words[1].empty() || words[1].front() == '-') return {};
  for (const char* folder : kProgramFolders) {
    if (exists(std::string(folder) + "/" + words[1])) return {};
  }
  return Error{Kind::NotFound,
               what + " is a script for " + inQuotes(words[1]) +
                   ", which is not in /usr/local/bin, /usr/bin or /bin",
               0};
}

base::Status checkFormat(const JobSpec& job, const std::string& real, const std::string& what) {
  const auto file = base::openFile(real, O_RDONLY);
  if (!file) return file.error().during(what);
  std::array<char, 256> head{};
  const ssize_t length = ::pread(file->get(), head.data(), head.size(), 0);
  if (length < 0) return base::kernelError(what + ": reading " + real);
  const std::string text(head.data(), static_cast<std::size_t>(length));
  if (text.rfind("#!", 0) == 0) return checkScript(job, text, what);
  if (text.size() < sizeof(Elf64_Ehdr) || std::memcmp(text.data(), ELFMAG, SELFMAG) != 0) {
    return Error{Kind::Config, what + ": " + real + " is no program (no ELF header and no #!)", 0};
  }
  Elf64_Ehdr header{};
  std::memcpy(&header, text.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
    return Error{Kind::Config, what + ": " + real + " is a program for another machine", 0};
  }
  return {};
}

base::Result<std::string> checkPlace(const JobSpec& job, const Place& place,
                                     const std::string& what) {
  const auto real = followVisibly(job, place.here, what);
  if (!real) return real.error();
  if (auto mode = checkMode(job, *real, what); !mode) return mode.error();
  if (auto format = checkFormat(job, *real, what); !format) return format.error();
  return place.in_box;
}

}  // namespace

bool isVisible(const JobSpec& job, const std::string& path) {
  for (const char* folder : kShown) {
    if (isBelow(path, folder)) return true;
  }
  for (const std::string& shown : job.agent.read_only) {
    if (isBelow(path, shown)) return true;
  }
  return isBelow(path, job.agent.workspace);
}

base::Result<std::string> resolveExecutable(const JobSpec& job) {
  std::string tried;
  for (const std::string& name : job.agent.executables) {
    for (const Place& place : candidates(job, name)) {
      if (exists(place.here))
        return checkPlace(job, place, "the agent's program " + inQuotes(name));
    }
    tried += (tried.empty() ? "" : ", ") + inQuotes(name);
  }
  std::string sentence = "the agent's program " + tried + " is not there";
  const bool by_name = tried.find('/') == std::string::npos;
  if (by_name) {
    sentence +=
        "; looked in /usr/local/bin, /usr/bin, /bin and agent.read_only; name it with "
        "agent.executable and show its folder with agent.read_only";
  }
  return Error{Kind::NotFound, sentence, 0};
}

}  // namespace warder::job
