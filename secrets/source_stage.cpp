#include "secrets/source_stage.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "supervisor/base/log.h"
#include "supervisor/base/units.h"
#include "supervisor/base/wire.h"

namespace warder::secrets {

namespace json = base::json;
using base::Error;
using base::Kind;
using base::Result;
using base::Status;
using Clock = std::chrono::steady_clock;

namespace {

struct HelperOrder {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::chrono::milliseconds timeout{0};
};

Result<HelperOrder> readOrder() {
  auto object = base::readStageConfig();
  if (!object) return object.error();
  try {
    HelperOrder order;
    order.argv = json::value_to<std::vector<std::string>>(object->at("argv"));
    order.env = json::value_to<std::vector<std::string>>(object->at("env"));
    order.timeout = std::chrono::milliseconds(object->at("timeout_ms").to_number<std::int64_t>());
    if (!order.argv.empty()) return order;
  } catch (const std::exception&) {
  }
  return Error{Kind::Internal, "the configuration of the stage source is not valid"};
}

/// The last line of what is written, bounded: a program cannot fill memory or a log with words.
class LastLine {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      if (byte != '\n') {
        if (ended_) line_.clear();
        ended_ = false;
        if (line_.size() < kMaxHelperWords) line_ += byte;
      } else {
        ended_ = true;
      }
    }
  }
  /// To go after a sentence.
  std::string words() const {
    return line_.empty() ? "" : "; it said last: " + base::escapeForTerminal(line_);
  }

 private:
  std::string line_;
  bool ended_ = false;
};

std::vector<char*> pointersTo(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

class Helper {
 public:
  explicit Helper(HelperOrder order) : order_(std::move(order)) {}
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() { endGroup(); }

  Status run(int control) {
    if (auto started = start(); !started) return started;
    const auto until = Clock::now() + order_.timeout;
    while (!over_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      if (left.count() <= 0)
        return Error{Kind::Timeout, order_.argv[0] + " did not end within " +
                                        base::printDuration(order_.timeout) + said_.words()};
      pollfd sources[] = {
          {process_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}, {control, POLLIN, 0}};
      ::poll(sources, 3, static_cast<int>(left.count()));
      if (sources[2].revents != 0) return Error{Kind::Peer, "nobody waits for the secret any more"};
      if (sources[1].revents != 0) hear();
      if (sources[0].revents != 0) reap();
    }
    endGroup();
    return howItEnded();
  }

 private:
  Status start() {
    auto errors = base::makePipe();
    auto failure = base::makePipe();
    auto nothing = base::openFile("/dev/null", O_RDONLY);
    if (!errors || !failure || !nothing) return base::kernelError("cannot make pipes");
    auto argv = pointersTo(order_.argv);
    auto env = pointersTo(order_.env);
    pid_ = ::fork();
    if (pid_ < 0) return base::kernelError("cannot start a program");
    if (pid_ == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const bool ready = ::dup2(nothing->get(), STDIN_FILENO) >= 0 &&
                         ::dup2(base::kFirstExtraFd, STDOUT_FILENO) >= 0 &&
                         ::dup2(errors->write.get(), STDERR_FILENO) >= 0 && ::chdir("/") == 0;
      if (ready) ::execve(argv[0], argv.data(), env.data());
      const int number = errno;
      (void)!::write(failure->write.get(), &number, sizeof number);
      ::_exit(127);
    }
    ::setpgid(pid_, pid_);
    ::close(base::kFirstExtraFd);  // its end is the program's alone
    errors_ = std::move(errors->read);
    process_ = base::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!process_) return base::kernelError("cannot watch a program (Linux 5.3)");
    failure->write.reset();
    int number = 0;
    if (::read(failure->read.get(), &number, sizeof number) == sizeof number)
      return base::kernelError("cannot execute " + order_.argv[0], number);
    return base::setNonBlocking(errors_.get(), true);
  }

  void hear() {
    char bytes[4096];
    for (int burst = 0; burst < 16; ++burst) {
      const ssize_t count = ::read(errors_.get(), bytes, sizeof bytes);
      if (count == 0) errors_.reset();
      if (count <= 0) return;
      said_.add({bytes, static_cast<std::size_t>(count)});
    }
  }

  void reap() {
    over_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    if (over_ && errors_) hear();
  }

  /// Whatever the program has started in its group shall not hold its output. Orphans of it become
  /// our children, so that their end can be waited for.
  void endGroup() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    if (!over_) ::waitpid(pid_, &status_, 0);
    while (::waitpid(-pid_, nullptr, 0) > 0) {
    }
    over_ = true;
    pid_ = -1;
  }

  Status howItEnded() const {
    if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return {};
    const std::string how = WIFEXITED(status_)
                                ? "ended with " + std::to_string(WEXITSTATUS(status_))
                                : "was killed by signal " + std::to_string(WTERMSIG(status_));
    return Error{Kind::Config, order_.argv[0] + " " + how + said_.words()};
  }

  HelperOrder order_;
  pid_t pid_ = -1;
  base::UniqueFd process_, errors_;
  LastLine said_;
  int status_ = 0;
  bool over_ = false;
};

int serve(int control) {
  const auto failed = [control](const char* step, const Error& error) {
    (void)base::sayFailed(control, step, error);
    return 1;
  };
  if (auto hardened = base::hardenStage(); !hardened) return failed("harden", hardened.error());
  auto order = readOrder();
  if (!order) return failed("configuration", order.error());
  for (const int fd : {control, base::kFirstExtraFd})
    if (auto kept = base::setCloseOnExec(fd, true); !kept) return failed("start", kept.error());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Helper helper(std::move(*order));
  if (auto ran = helper.run(control); !ran) return failed("exec", ran.error());
  return base::sayReady(control) ? 0 : 1;
}

}  // namespace

int sourceMain() {
  base::setUpLog("source");
  try {
    return serve(base::kControlFd);
  } catch (const std::exception& e) {
    base::log(base::Level::Error, std::string("the source ends by an error of ours: ") + e.what());
    return 1;
  }
}

}  // namespace warder::secrets
