#include "supervisor/launch/spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <memory>

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::UniqueFd;

namespace {

class SpawnActions {
 public:
  /// Descriptors are first copied to `staging` or higher, above all numbers that they are moved to,
  /// so that moving one never hits another that is still to be moved.
  explicit SpawnActions(int staging) : staging_(staging) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  base::Status give(int source, int target) {
    auto copy = base::duplicate(source, staging_);
    if (!copy) return copy.error();
    ::posix_spawn_file_actions_adddup2(&actions_, copy->get(), target);
    staged_.push_back(std::move(*copy));
    return {};
  }

  void openNull(int target) {
    ::posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", O_RDONLY, 0);
  }

  /// Signals as a program expects them, whatever this process blocks.
  Result<pid_t> spawn(std::vector<std::string>& words, bool keep_signal_mask) {
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    const int mask = keep_signal_mask ? 0 : POSIX_SPAWN_SETSIGMASK;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(mask | POSIX_SPAWN_SETSIGDEF));
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    char* environment[] = {nullptr};
    pid_t pid = -1;
    const int failed =
        ::posix_spawn(&pid, "/proc/self/exe", &actions_, &attributes_, argv.data(), environment);
    if (failed != 0) return kernelError("cannot start stage " + words[1], failed);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  int staging_;
  std::vector<UniqueFd> staged_;
};

}  // namespace

Result<StartedStage> startStage(const StageStart& start) {
  auto config = base::sealedText(start.stage, base::json::serialize(start.config));
  if (!config) return config.error();
  auto control = base::makeMessagePair();
  if (!control) return control.error();

  SpawnActions actions(base::kFirstExtraFd + static_cast<int>(start.extra_fds.size()));
  std::vector<std::pair<int, int>> gifts = {{STDERR_FILENO, STDOUT_FILENO},
                                            {config->get(), base::kConfigFd},
                                            {control->theirs.get(), base::kControlFd}};
  int target = base::kFirstExtraFd;
  for (const int fd : start.extra_fds) gifts.emplace_back(fd, target++);
  actions.openNull(STDIN_FILENO);
  for (const auto& [source, number] : gifts)
    if (auto given = actions.give(source, number); !given) return given.error();

  std::vector<std::string> words = {"warder", "--stage=" + start.stage};
  if (start.service)
    words.push_back("--as=" + std::to_string(start.uid) + ":" + std::to_string(start.gid));
  auto pid = actions.spawn(words, start.keep_signal_mask);
  if (!pid) return pid.error();
  return StartedStage{start.stage, *pid, std::move(control->ours)};
}

Result<base::Message> awaitMessage(int control, std::chrono::milliseconds limit) {
  pollfd ready{control, POLLIN, 0};
  int count;
  do {
    count = ::poll(&ready, 1, static_cast<int>(limit.count()));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return kernelError("cannot wait for a stage");
  if (count == 0)
    return Error{Kind::Timeout, "no word within " + std::to_string(limit.count()) + " ms"};
  auto message = base::receiveMessage(control);
  if (!message) return message.error();
  if (!*message) return Error{Kind::Peer, "ended without a word"};
  return std::move(**message);
}

Error saidFailure(const base::json::object& message) {
  const auto* failed = message.if_contains("failed");
  if (failed == nullptr || !failed->is_object())
    return Error{Kind::Peer, "said neither ready nor failed"};
  const auto& object = failed->as_object();
  return Error{Kind::Internal, std::string(object.at("step").as_string()) + ": " +
                                   std::string(object.at("sentence").as_string())};
}

Result<base::Message> awaitReady(const StartedStage& stage, std::chrono::milliseconds limit) {
  auto message = awaitMessage(stage.control.get(), limit);
  const std::string activity = "starting the " + stage.stage;
  if (!message) return message.error().during(activity);
  if (message->body.contains("failed")) return saidFailure(message->body).during(activity);
  if (!message->body.contains("ready")) return Error{Kind::Peer, activity + ": unexpected word"};
  return message;
}

}  // namespace warder::launch
