#include "supervisor/report/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/base/fd.h"

namespace warder::report {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxErrors = 4096;

std::vector<char*> pointersTo(const std::vector<std::string>& texts, const char* first = nullptr) {
  std::vector<char*> pointers;
  if (first != nullptr) pointers.push_back(const_cast<char*>(first));
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct Started {
  pid_t pid = -1;
  base::UniqueFd input, output, errors;
  std::string unsent;    // the piece of input at hand
  std::size_t sent = 0;  // of it
  CommandEnd end;
};

Result<Started> start(const Command& command) {
  auto input = base::makePipe(), output = base::makePipe(), errors = base::makePipe();
  if (!input) return input.error();
  if (!output) return output.error();
  if (!errors) return errors.error();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  if (command.input)
    ::posix_spawn_file_actions_adddup2(&actions, input->read.get(), 0);
  else
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output->write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors->write.get(), 2);
  ::posix_spawn_file_actions_addchdir_np(&actions, command.folder.c_str());
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  const auto arguments = pointersTo(command.arguments, command.program.c_str());
  const auto environment = pointersTo(command.environment);
  Started started;
  const int code = ::posix_spawn(&started.pid, command.program.c_str(), &actions, &attributes,
                                 arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (code != 0) return kernelError("cannot start " + command.program, code);
  if (command.input) started.input = std::move(input->write);
  if (started.input)
    if (auto set = base::setNonBlocking(started.input.get(), true); !set) return set.error();
  started.output = std::move(output->read);
  started.errors = std::move(errors->read);
  return started;
}

/// Reads once; false at the end of the stream.
Result<bool> pump(base::UniqueFd& fd, const std::function<Status(std::string_view)>& take) {
  char buffer[64 * 1024];
  const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
  if (count < 0 && errno == EINTR) return true;
  if (count < 0) return kernelError("cannot read from a program");
  if (count == 0) {
    fd.reset();
    return false;
  }
  if (auto taken = take({buffer, static_cast<std::size_t>(count)}); !taken) return taken.error();
  return true;
}

/// Writes once. A program that reads no more is not an error: its exit code says what it thinks.
Status feed(Started& child, const Command& command) {
  if (child.unsent.empty()) {
    auto piece = command.input();
    if (!piece) return piece.error();
    child.unsent = std::move(*piece);
    if (child.unsent.empty()) {
      child.input.reset();
      return {};
    }
    child.sent = 0;
  }
  const ssize_t count = ::write(child.input.get(), child.unsent.data() + child.sent,
                                child.unsent.size() - child.sent);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (count < 0 && errno != EPIPE) return kernelError("cannot write to a program");
  if (count < 0)
    child.input.reset();
  else
    child.sent += static_cast<std::size_t>(count);
  if (child.sent == child.unsent.size()) child.unsent.clear();
  return {};
}

Status relay(Started& child, const Command& command, Deadline deadline,
             const std::function<Status(std::string_view)>& output) {
  const auto keepErrors = [&child](std::string_view bytes) -> Status {
    child.end.errors += bytes.substr(0, kMaxErrors - child.end.errors.size());
    return {};
  };
  while (child.input || child.output || child.errors) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Error{Kind::Timeout, "a program took too long"};
    pollfd fds[] = {{child.output.get(), POLLIN, 0},
                    {child.errors.get(), POLLIN, 0},
                    {child.input.get(), POLLOUT, 0}};
    if (::poll(fds, 3, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000))) < 0 &&
        errno != EINTR)
      return kernelError("cannot wait for a program");
    if (child.output && fds[0].revents != 0)
      if (auto pumped = pump(child.output, output); !pumped) return pumped.error();
    if (child.errors && fds[1].revents != 0)
      if (auto pumped = pump(child.errors, keepErrors); !pumped) return pumped.error();
    if (child.input && fds[2].revents != 0)
      if (auto fed = feed(child, command); !fed) return fed;
  }
  return {};
}

}  // namespace

Result<CommandEnd> runCommand(const Command& command, Deadline deadline,
                              const std::function<Status(std::string_view)>& output) {
  auto child = start(command);
  if (!child) return child.error();
  const Status relayed = relay(*child, command, deadline, output);
  if (!relayed) ::kill(-child->pid, SIGKILL);
  int status = 0;
  while (::waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!relayed) return relayed.error().during(command.program);
  child->end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return std::move(child->end);
}

}  // namespace warder::report
