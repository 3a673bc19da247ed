#include "supervisor/init/plain_init.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/init/box_processes.h"
#include "supervisor/launch/program.h"
#include "supervisor/watch/reaper.h"
#include "supervisor/watch/signals.h"

namespace warder::init {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCannotSupervise = 125;
/// Between two looks at processes that fork to escape their end.
constexpr std::chrono::milliseconds kKillAgain{20};
/// What the kernel cannot kill in that many rounds (10 s) hangs in it; as PID 1 our end is its own.
constexpr int kMaxKillRounds = 500;

void say(const std::string& sentence) {
  const std::string line = "warder init: " + sentence + "\n";
  // Nobody to tell is no reason to stop.
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

/// Is standard input our terminal, and are we its foreground group, so that it is ours to give?
bool ownsTerminal() {
  return ::isatty(STDIN_FILENO) != 0 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

class Conductor {
 public:
  explicit Conductor(const PlainInit& init) : init_(init) {}

  int run() {
    if (!becomeReaper()) return kCannotSupervise;
    terminal_ = ownsTerminal();
    auto started = launch::startProgram(
        {init_.command, watch::inheritedMask(), watch::inheritedChildIgnored(), terminal_});
    if (!started) {
      say(started.error().sentence());
      return launch::exitCodeOf(started.error());
    }
    program_ = *started;
    letGo();
    auto signals = watch::openSignalFd();
    if (!signals) {
      say(signals.error().sentence());
      return kCannotSupervise;
    }
    collect();
    while (watch::hasChildren() && kill_rounds_ < kMaxKillRounds) await(signals->get());
    if (terminal_) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    tellEnding();
    return exit_code_;
  }

 private:
  bool becomeReaper() {
    const pid_t parent = ::getppid();
    if (init_.parent_death_signal != 0) {
      ::prctl(PR_SET_PDEATHSIG, init_.parent_death_signal);
      // It may have died before we asked.
      if (::getppid() != parent) ::kill(::getpid(), init_.parent_death_signal);
    }
    if (::getpid() == 1) return true;
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
      say(base::kernelError("cannot become a subreaper").sentence());
      return false;
    }
    if (!init_.quiet)
      say("this is not PID 1 but " + std::to_string(::getpid()) +
          ": only processes that the command starts are signalled and collected");
    return true;
  }

  /// What the program inherited is its own now: our copies would keep a pipe from its end of file
  /// and a file system from being unmounted.
  void letGo() const {
    ::syscall(SYS_close_range, 3U, ~0U, 0);
    if (::chdir("/") != 0) say("cannot leave the working directory");
    auto nothing = base::openFile("/dev/null", O_RDWR);
    if (!nothing) return;
    if (!terminal_) (void)base::replace(STDIN_FILENO, nothing->get());
    (void)base::replace(STDOUT_FILENO, nothing->get());
  }

  void await(int signals) {
    timespec limit{};
    const auto left = deadline_ ? std::max(Clock::duration::zero(), *deadline_ - Clock::now())
                                : Clock::duration::zero();
    limit.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
    limit.tv_nsec = std::chrono::nanoseconds(left).count() % 1'000'000'000;
    pollfd source{signals, POLLIN, 0};
    ::ppoll(&source, 1, deadline_ ? &limit : nullptr, nullptr);
    bool children = false;
    for (const auto& signal : watch::readSignals(signals)) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number == SIGCHLD)
        children = true;
      else
        onSignal(number);
    }
    if (children) collect();
    if (deadline_ && Clock::now() >= *deadline_) killRest();
  }

  void onSignal(int number) {
    if (program_ > 0) return forward(number);
    // They have been asked already; a second request means: do not wait any longer.
    if ((number == SIGTERM || number == SIGINT || number == SIGQUIT) && stop_signals_++ > 0)
      killRest();
  }

  void forward(int number) {
    const auto rewritten = init_.rewrite.find(number);
    const int sent = rewritten == init_.rewrite.end() ? number : rewritten->second;
    if (number == SIGTERM || number == SIGINT || number == SIGQUIT) ++stop_signals_;
    if (number == SIGCONT && terminal_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp())
      ::tcsetpgrp(STDIN_FILENO, program_);  // `fg` gave it to our group
    // Signals come by their numbers, SIGTERM before the SIGCHLD of a stop that was earlier.
    const bool stopped_now = watch::hasStopped(program_);
    stopped_ = stopped_ || stopped_now;
    const pid_t target = init_.to_group ? -program_ : program_;
    if (sent != 0) ::kill(target, sent);
    // A stopped process acts on its signals only when it goes on.
    if (stopped_ && sent == SIGTERM) ::kill(target, SIGCONT);
    if (sent == SIGCONT || sent == SIGTERM)
      stopped_ = false;
    else if (stopped_now)
      stopToo();
  }

  void collect() {
    for (const auto& ended : watch::reapAll()) {
      if (ended.pid != program_) continue;
      program_ = -1;
      exit_code_ = ended.signaled ? 128 + ended.code : ended.code;
      if (init_.exit_ok.contains(exit_code_)) exit_code_ = 0;
      endRest();
    }
    if (program_ <= 0 || !watch::hasStopped(program_)) return;
    stopped_ = true;
    stopToo();
  }

  /// Whoever started us waits for us to stop, not for a process that it does not know.
  static void stopToo() {
    if (::getpid() != 1) ::kill(::getpid(), SIGSTOP);
  }

  void endRest() {
    if (!watch::hasChildren()) return;
    asked_ = signalDescendants(SIGTERM, {});
    deadline_ = Clock::now() + init_.grace;
  }

  void killRest() {
    ++kill_rounds_;
    killed_ += killDescendants({});
    deadline_ = Clock::now() + kKillAgain;
  }

  void tellEnding() const {
    if (init_.quiet || asked_ + killed_ == 0) return;
    say("the command ended and left " + std::to_string(std::max(asked_, killed_)) +
        " process(es) running: asked to end with SIGTERM" +
        (killed_ == 0 ? "" : ", " + std::to_string(killed_) + " killed after the grace"));
  }

  const PlainInit& init_;
  bool terminal_ = false;
  pid_t program_ = -1;
  int exit_code_ = kCannotSupervise;
  int stop_signals_ = 0, kill_rounds_ = 0;
  bool stopped_ = false;  // the program, by job control
  std::size_t asked_ = 0, killed_ = 0;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace

int runPlainInit(const PlainInit& init) {
  return Conductor(init).run();
}

}  // namespace warder::init
