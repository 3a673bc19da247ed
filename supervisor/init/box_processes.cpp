#include "supervisor/init/box_processes.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "supervisor/base/fd.h"

namespace warder::init {

namespace {

constexpr std::size_t kMaxStat = 4096;
constexpr int kFreezeRounds = 50;

struct Process {
  pid_t parent = 0;
  bool zombie = false;
};
using Processes = std::map<pid_t, Process>;

/// proc(5): "pid (comm) state ppid …"; comm may hold anything, so the state follows the last ')'.
std::optional<Process> look(const std::string& pid) {
  auto text = base::readFile("/proc/" + pid + "/stat", kMaxStat);
  if (!text) return std::nullopt;  // gone meanwhile
  const auto end = text->rfind(')');
  if (end == std::string::npos || end + 4 >= text->size()) return std::nullopt;
  Process process;
  process.zombie = (*text)[end + 2] == 'Z';
  const char* number = text->data() + end + 4;
  std::from_chars(number, text->data() + text->size(), process.parent);
  return process;
}

/// A /proc of another pid namespace names other processes by the same numbers: worse than none.
bool isOurProc() {
  char self[32] = {};
  return ::readlink("/proc/self", self, sizeof self - 1) > 0 && std::to_string(::getpid()) == self;
}

Processes readAll() {
  Processes all;
  if (!isOurProc()) return all;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (const auto process = look(name)) all[pid] = *process;
  }
  return all;
}

/// A root without /proc names nobody. The first process of a pid namespace can still reach
/// everybody in it at once, where there is nobody to spare. How many they were is not known.
bool canOnlyReachAll(const std::vector<pid_t>& known) {
  return ::getpid() == 1 && known.empty() && readAll().empty();
}

std::size_t reachAll(int number) {
  if (::kill(-1, number) != 0) return 0;
  ::kill(-1, SIGCONT);
  return 1;
}

bool contains(const std::vector<pid_t>& list, pid_t pid) {
  return std::find(list.begin(), list.end(), pid) != list.end();
}

/// Does the chain of parents lead from `pid` to `self` without passing a known one?
bool isBelow(const Processes& all, pid_t pid, const std::vector<pid_t>& known) {
  const pid_t self = ::getpid();
  for (std::size_t steps = 0; steps <= all.size(); ++steps) {
    if (pid == self) return steps > 0;
    if (contains(known, pid)) return false;
    const auto process = all.find(pid);
    // Parent 0: it entered this pid namespace from outside. Parent gone: it was given to an init.
    if (process == all.end()) return self == 1 && pid != 0;
    pid = process->second.parent;
  }
  return false;
}

}  // namespace

std::vector<pid_t> descendants(const std::vector<pid_t>& known) {
  const Processes all = readAll();
  std::vector<pid_t> found;
  for (const auto& [pid, process] : all)
    if (!process.zombie && isBelow(all, pid, known)) found.push_back(pid);
  return found;
}

std::size_t killDescendants(const std::vector<pid_t>& known) {
  if (canOnlyReachAll(known)) return reachAll(SIGKILL);
  const bool first = ::getpid() == 1;
  if (first) ::kill(-1, SIGSTOP);
  auto below = descendants(known);
  for (int round = 0; !first && round < kFreezeRounds && !below.empty(); ++round) {
    const auto before = below;
    for (const pid_t pid : below) ::kill(pid, SIGSTOP);
    below = descendants(known);
    if (below == before) break;
  }
  for (const pid_t pid : below) ::kill(pid, SIGKILL);
  if (!first) return below.size();
  for (const auto& [pid, process] : readAll())
    if (pid != 1 && !contains(below, pid)) ::kill(pid, SIGCONT);
  return below.size();
}

std::size_t signalDescendants(int number, const std::vector<pid_t>& known) {
  if (canOnlyReachAll(known)) return reachAll(number);
  const auto below = descendants(known);
  for (const pid_t pid : below) {
    ::kill(pid, number);
    ::kill(pid, SIGCONT);
  }
  return below.size();
}

}  // namespace warder::init
