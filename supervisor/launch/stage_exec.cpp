// The exec stage: follows an ExecPlan step by step. Ordinary single-threaded code after an exec, so
// nothing here needs to be async-signal-safe. The order matters: what needs capabilities comes
// before they go, and the filter that forbids mounts and namespaces comes last.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "supervisor/base/wire.h"
#include "supervisor/launch/confine.h"
#include "supervisor/launch/exec_plan.h"

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Status;
using base::UniqueFd;

namespace {

constexpr int kStagingFd = 64;
constexpr int kSetupFailed = 125;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

class ExecStage {
 public:
  explicit ExecStage(ExecPlan plan) : plan_(std::move(plan)) {}

  int run() {
    struct Step {
      const char* name;
      Status (ExecStage::*take)();
    };
    const Step steps[] = {{"session", &ExecStage::startSession},
                          {"cgroup", &ExecStage::enterCgroup},
                          {"network", &ExecStage::enterNetwork},
                          {"standard streams", &ExecStage::connectStreams},
                          {"root", &ExecStage::enterRoot},
                          {"limits", &ExecStage::setLimits},
                          {"user namespace", &ExecStage::nestUserNamespace},
                          {"bounding set", &ExecStage::emptyBoundingSet},
                          {"user", &ExecStage::takeIdentity},
                          {"capabilities", &ExecStage::emptyCapabilities},
                          {"signal scope", &ExecStage::scope},
                          {"home", &ExecStage::tryHome},
                          {"seed", &ExecStage::seedHome},
                          {"working directory", &ExecStage::enterFolder},
                          {"signals", &ExecStage::resetSignals},
                          {"descriptors", &ExecStage::arrangeDescriptors},
                          {"seccomp filter", &ExecStage::filterCalls}};
    for (const auto& step : steps) {
      if (auto taken = (this->*step.take)(); !taken) {
        (void)base::sayFailed(base::kControlFd, step.name, taken.error());
        return kSetupFailed;
      }
    }
    return execute();
  }

 private:
  Status startSession() {
    if (::setsid() < 0 && errno != EPERM) return kernelError("cannot start a session");
    auto self = base::openFile("/proc/self/exe", O_PATH);
    if (!self) return self.error();
    // Away from the numbers that arrangeDescriptors fills.
    auto away = base::duplicate(self->get(), kStagingFd);
    if (!away) return away.error();
    self_ = std::move(*away);
    return {};
  }

  Status enterCgroup() {
    if (plan_.fds.cgroup < 0) return {};
    // "0" is whoever writes. Source: cgroup-v2.rst, cgroup.procs.
    auto written = base::writeAll(plan_.fds.cgroup, "0");
    if (!written) return written.error().during("entering the agent's cgroup");
    return {};
  }

  Status enterNetwork() {
    if (plan_.fds.network_namespace < 0) return {};  // mechanism `advisory`
    if (::setns(plan_.fds.network_namespace, CLONE_NEWNET) != 0)
      return kernelError("cannot enter the agent's network");
    return {};
  }

  Status connectStreams() {
    const int streams[] = {plan_.fds.standard_input, plan_.fds.standard_output,
                           plan_.fds.standard_error};
    for (int target = 0; target < 3; ++target)
      if (streams[target] >= 0 && ::dup2(streams[target], target) < 0)
        return kernelError("cannot connect a standard stream");
    return {};
  }

  Status enterRoot() {
    if (plan_.root.empty()) return {};
    if (::unshare(CLONE_NEWNS) != 0) return kernelError("cannot make a mount namespace");
    if (::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0)
      return kernelError("cannot make mounts private");
    if (!plan_.private_from.empty()) {
      const std::string to = plan_.root + plan_.private_to;
      if (::mount(plan_.private_from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0)
        return kernelError("cannot show " + plan_.private_from);
    }
    // pivot_root(".", ".") stacks the old root on the new one and needs no folder for it.
    // Source: pivot_root(2).
    if (::chdir(plan_.root.c_str()) != 0) return kernelError("cannot enter " + plan_.root);
    if (::syscall(SYS_pivot_root, ".", ".") != 0) return kernelError("cannot change the root");
    if (::umount2(".", MNT_DETACH) != 0) return kernelError("cannot leave the old root");
    if (::chdir("/") != 0) return kernelError("cannot enter the new root");
    return {};
  }

  Status setLimits() {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_CORE, &none) != 0) return kernelError("cannot forbid core files");
    return {};
  }

  Status nestUserNamespace() {
    if (!plan_.one_id || plan_.root.empty()) return {};
    if (::unshare(CLONE_NEWUSER) != 0) return kernelError("cannot make a user namespace");
    if (auto written = writeSelf("setgroups", "deny"); !written) return written;
    const std::string uid = std::to_string(plan_.uid) + " 0 1";
    if (auto written = writeSelf("uid_map", uid); !written) return written;
    return writeSelf("gid_map", std::to_string(plan_.gid) + " 0 1");
  }

  Status writeSelf(const std::string& name, const std::string& text) {
    auto file = base::openFile("/proc/self/" + name, O_WRONLY);
    if (!file) return file.error();
    return base::writeAll(file->get(), text);
  }

  /// Without CAP_SETPCAP the set stays; without privileges to gain it is an empty threat.
  Status emptyBoundingSet() {
    auto dropped = dropBoundingSet();
    if (!dropped && dropped.error().system_errno == EPERM && plan_.one_id && plan_.root.empty())
      return {};
    return dropped;
  }
  Status takeIdentity() { return becomeUser(plan_.uid, plan_.gid); }

  Status emptyCapabilities() {
    if (auto dropped = dropCapabilities(); !dropped) return dropped;
    return forbidNewPrivileges();
  }

  /// With one uid for all, this is the wall between the agent and its supervisor's processes.
  Status scope() {
    auto scoped = scopeSignals();
    const bool needed = plan_.one_id && !plan_.root.empty();
    if (!scoped && scoped.error().kind == Kind::NotFound && !needed) return {};
    return scoped;
  }

  /// Agents write ~/.something by temporary file and rename; try that now and not in their way.
  Status tryHome() {
    if (plan_.home.empty()) return {};
    const std::string from = plan_.home + "/.warder-preflight-1";
    const std::string to = plan_.home + "/.warder-preflight-2";
    auto file = base::openFile(from, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!file) return file.error().during("the home folder is not writable");
    if (::rename(from.c_str(), to.c_str()) != 0 || ::unlink(to.c_str()) != 0)
      return kernelError("a file in the home folder cannot be renamed");
    return {};
  }

  Status seedHome() { return plan_.home.empty() ? Status() : seedFiles(plan_.home, plan_.seeds); }

  Status enterFolder() {
    ::umask(plan_.umask);
    if (::chdir(plan_.working_directory.c_str()) != 0)
      return kernelError("cannot enter " + plan_.working_directory);
    return {};
  }

  Status resetSignals() {
    sigset_t none;
    ::sigemptyset(&none);
    if (::sigprocmask(SIG_SETMASK, &none, nullptr) != 0)
      return kernelError("cannot unblock signals");
    return {};
  }

  /// Everything but the standard streams closes at exec; the control socket's end is then how init
  /// learns that the program runs. A stage of ours keeps its three.
  Status arrangeDescriptors() {
    if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
      return kernelError("cannot close descriptors");
    if (!plan_.own_stage) return {};
    if (::dup2(plan_.fds.stage_config, base::kConfigFd) < 0 ||
        ::dup2(plan_.fds.stage_extra, base::kFirstExtraFd) < 0)
      return kernelError("cannot arrange the stage's descriptors");
    return base::setCloseOnExec(base::kControlFd, false);
  }

  Status filterCalls() { return filterAgentCalls(plan_.own_stage); }

  int execute() {
    std::vector<char*> argv, environment;
    std::vector<std::string> words = plan_.argv;
    if (plan_.own_stage) words = {"warder", "--stage=" + plan_.argv.at(0)};
    for (auto& word : words) argv.push_back(word.data());
    for (auto& variable : plan_.environment) environment.push_back(variable.data());
    argv.push_back(nullptr);
    environment.push_back(nullptr);
    if (plan_.own_stage)
      ::syscall(SYS_execveat, self_.get(), "", argv.data(), environment.data(), AT_EMPTY_PATH);
    else
      ::execve(argv[0], argv.data(), environment.data());
    const int reason = errno;
    (void)base::sayFailed(base::kControlFd, "exec",
                          kernelError("cannot execute " + words[0], reason));
    return reason == ENOENT ? kNotFound : kNotExecutable;
  }

  ExecPlan plan_;
  UniqueFd self_;
};

}  // namespace

int execMain() {
  auto config = base::readStageConfig();
  if (!config) return kSetupFailed;
  try {
    return ExecStage(execPlanFromJson(*config)).run();
  } catch (const std::exception& error) {
    (void)base::sayFailed(base::kControlFd, "plan", Error{Kind::Internal, error.what()});
    return kSetupFailed;
  }
}

}  // namespace warder::launch
