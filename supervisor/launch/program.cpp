#include "supervisor/launch/program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/job/program_format.h"

extern char** environ;

namespace warder::launch {

using base::Error;
using base::Kind;
using base::Result;

namespace {

constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
// Source: execvp(3), for an environment without PATH.
constexpr std::string_view kDefaultPath = "/bin:/usr/bin";
constexpr std::string_view kListenPid = "LISTEN_PID=";

/// Where execvp(3) would find it. A file that is there and must not be executed is remembered, so
/// that the sentence can name it. Empty when there is none.
std::string findProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* set = ::getenv("PATH");
  std::string_view path = set != nullptr ? set : kDefaultPath;
  std::string forbidden;
  for (;;) {
    const std::size_t end = path.find(':');
    const std::string_view folder = path.substr(0, end);
    const std::string file = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    struct stat found {};
    if (::stat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode)) {
      if (::access(file.c_str(), X_OK) == 0) return file;
      if (forbidden.empty()) forbidden = file;
    }
    if (end == std::string_view::npos) return forbidden;
    path.remove_prefix(end + 1);
  }
}

std::string bytesOf(const std::string& file, std::uint64_t offset, std::size_t size) {
  auto fd = base::openFile(file, O_RDONLY | O_NOCTTY);
  std::string bytes(size, '\0');
  const ssize_t length =
      fd ? ::pread(fd->get(), bytes.data(), size, static_cast<off_t>(offset)) : 0;
  bytes.resize(static_cast<std::size_t>(length > 0 ? length : 0));
  return bytes;
}

bool isElf(const std::string& file) {
  return bytesOf(file, 0, SELFMAG) == std::string_view(ELFMAG, SELFMAG);
}

Error whyNot(const std::string& name, const std::string& file, int reason) {
  const std::string cannot = "cannot execute " + name + ": ";
  if (name.empty()) return {Kind::NotFound, "cannot execute a program without a name"};
  if (file.empty()) {
    const char* path = ::getenv("PATH");
    return {Kind::NotFound,
            cannot + "there is no such program in PATH (" +
                (path != nullptr ? path : "not set; looked in " + std::string(kDefaultPath)) + ")"};
  }
  struct stat found {};
  const bool there = ::stat(file.c_str(), &found) == 0;
  if (there && S_ISDIR(found.st_mode)) return {Kind::Config, cannot + "it is a folder"};
  if (reason == EACCES && there && (found.st_mode & 0111) == 0)
    return {Kind::Config, cannot + file + " is not executable; chmod +x it"};
  const auto format = job::readProgramFormat(
      [&file](std::uint64_t offset, std::size_t size) { return bytesOf(file, offset, size); });
  if (reason == ENOENT && there && format)
    return {Kind::NotFound,
            cannot + file + " is there, but its interpreter " + format->interpreter +
                " is not; the image lacks it, or the program is built for another C library"};
  // ENOENT for a file that is there: what its first line names is not, or cannot be read.
  if ((reason == ENOEXEC || (reason == ENOENT && there)) && !format)
    return {reason == ENOENT ? Kind::NotFound : Kind::Config,
            cannot + file + " " + format.error().sentence()};
  return {reason == ENOENT || reason == ENOTDIR ? Kind::NotFound : Kind::Config,
          "cannot execute " + name, reason};
}

/// The environment's LISTEN_PID if it names this process: room for the digits of any pid, or
/// nullptr. Source: sd_listen_fds(3).
char* listenPidHere(std::string& room) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(kListenPid)) continue;
    if (std::atol(*variable + kListenPid.size()) != ::getpid()) return nullptr;
    room = std::string(kListenPid) + std::string(16, '\0');
    *variable = room.data();
    return room.data() + kListenPid.size();
  }
  return nullptr;
}

/// Decimal digits without the C library: runs in the child of vfork(2).
void writeNumber(char* at, pid_t number) {
  char digits[16];
  int count = 0;
  for (; number > 0; number /= 10) digits[count++] = static_cast<char>('0' + number % 10);
  while (count > 0) *at++ = digits[--count];
  *at = '\0';
}

struct Attempt {
  const ProgramStart& start;
  const char* file;
  char* const* argv;
  char* listen_pid;
};

/// The child's part: system calls only, because it shares our memory until it executes. Signals are
/// blocked in both, so nothing of ours can run in it.
[[noreturn]] void become(const Attempt& attempt, volatile int* reason) {
  ::setpgid(0, 0);
  // Not to be the foreground group is no reason not to run (no terminal, or not ours).
  if (attempt.start.terminal) ::tcsetpgrp(STDIN_FILENO, ::getpid());
  if (attempt.start.child_signal_ignored) ::signal(SIGCHLD, SIG_IGN);
  if (attempt.listen_pid != nullptr) writeNumber(attempt.listen_pid, ::getpid());
  ::sigprocmask(SIG_SETMASK, &attempt.start.mask, nullptr);
  ::execve(attempt.file, attempt.argv, environ);
  *reason = errno;
  ::_exit(kNotFound);
}

/// vfork(2): this process goes on when the program runs or could not be executed; the child's group
/// exists by then.
pid_t execute(const Attempt& attempt, volatile int* reason) {
  const pid_t pid = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (pid == 0) become(attempt, reason);
  return pid;
}

}  // namespace

Result<pid_t> startProgram(const ProgramStart& start) {
  const std::string name = start.argv[0] != nullptr ? start.argv[0] : "";
  const std::string file = findProgram(name);
  if (file.empty()) return whyNot(name, file, ENOENT);
  std::string listen_pid;
  Attempt attempt{start, file.c_str(), start.argv, listenPidHere(listen_pid)};
  volatile int reason = 0;
  pid_t pid = execute(attempt, &reason);
  std::vector<char*> shell;
  if (pid > 0 && reason == ENOEXEC && !isElf(file)) {
    std::string sh = "/bin/sh", script = file;
    shell = {sh.data(), script.data()};
    for (char* const* word = start.argv + 1; *word != nullptr; ++word) shell.push_back(*word);
    shell.push_back(nullptr);
    reason = 0;
    attempt.file = shell[0];
    attempt.argv = shell.data();
    pid = execute(attempt, &reason);
  }
  if (pid < 0) return base::kernelError("cannot make a process for " + name);
  if (reason != 0) return whyNot(name, file, reason);
  return pid;
}

int exitCodeOf(const Error& error) {
  return error.kind == Kind::NotFound ? kNotFound : kCannotExecute;
}

}  // namespace warder::launch
