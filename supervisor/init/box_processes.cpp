#include "supervisor/init/box_processes.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "supervisor/base/fd.h"

namespace warder::init {

namespace {
constexpr std::size_t kMaxStat = 4096;

/// proc(5): "pid (comm) state …"; comm may hold anything, so the state follows the last ')'.
bool isZombie(pid_t pid) {
  auto text = base::readFile("/proc/" + std::to_string(pid) + "/stat", kMaxStat);
  if (!text) return true;  // gone meanwhile
  const auto end = text->rfind(')');
  return end == std::string::npos || end + 2 >= text->size() || (*text)[end + 2] == 'Z';
}
}  // namespace

std::vector<pid_t> otherProcesses(const std::vector<pid_t>& known) {
  std::vector<pid_t> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == 1) continue;
    if (std::find(known.begin(), known.end(), pid) != known.end() || isZombie(pid)) continue;
    found.push_back(pid);
  }
  return found;
}

std::size_t killOtherProcesses(const std::vector<pid_t>& known) {
  ::kill(-1, SIGSTOP);
  const auto others = otherProcesses(known);
  for (const pid_t pid : others) ::kill(pid, SIGKILL);
  for (const pid_t pid : known)
    if (pid > 0) ::kill(pid, SIGCONT);
  return others.size();
}

}  // namespace warder::init
