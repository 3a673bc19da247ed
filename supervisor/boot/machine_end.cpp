// The last half of a machine: its outcome told, everything ended. Part of machine.h.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "supervisor/base/fd.h"
#include "supervisor/boot/console.h"
#include "supervisor/boot/machine.h"
#include "supervisor/boot/ports.h"
#include "supervisor/boot/power.h"

namespace warder::boot {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Status;
namespace json = base::json;

namespace {

constexpr std::size_t kMostReport = 1 << 20;
constexpr std::chrono::seconds kTellWithin{10};
constexpr int kEndWithinMs = 5000;

/// Everything but ourselves and the kernel's own threads. Processes in a call that cannot be
/// interrupted are not waited for for ever.
void endOthers() {
  if (::getpid() != 1) return;
  ::kill(-1, SIGKILL);
  for (int waited = 0; waited < kEndWithinMs;) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG | __WALL);
    if (ended > 0) continue;
    if (ended < 0) return;
    ::poll(nullptr, 0, 10);
    waited += 10;
  }
}

/// Writes to a port that may have nobody at its other end, and then never takes a byte.
Status writeWithin(int fd, std::string_view bytes) {
  const auto end = std::chrono::steady_clock::now() + kTellWithin;
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (written < 0 && errno != EAGAIN && errno != EINTR) return kernelError("cannot write");
    if (std::chrono::steady_clock::now() > end)
      return Error{Kind::Timeout, "nobody took the outcome within 10 s"};
    // Not POLLHUP's wake-up: a port without a reader would make this loop spin.
    ::poll(nullptr, 0, 10);
  }
  return {};
}

Status tellPort(const Outcome& outcome) {
  auto device = findPort(kOutcomePort);
  if (!device) return {};  // nobody asked to be told this way
  std::string report;
  if (!outcome.report_file.empty())
    if (auto text = base::readFile(outcome.report_file, kMostReport)) report = std::move(*text);
  const json::object head = {{"exit_code", outcome.exit_code},
                             {"sentence", outcome.sentence},
                             {"report_bytes", report.size()}};
  auto port = base::openFile(*device, O_WRONLY | O_NONBLOCK);
  if (!port) return port.error();
  return writeWithin(port->get(), json::serialize(head) + "\n" + report);
}

End wantedEnd() {
  auto line = base::readFile("/proc/cmdline", kMostCommandLine);
  return line ? readSettings(*line).settings.end : End::PowerOff;
}

}  // namespace

void endMachine(const Outcome& outcome) {
  // Never the end of a machine that somebody else booted.
  const bool ours = isFirstProcessOfKernel();
  if (ours) endOthers();
  say("exit code " + std::to_string(outcome.exit_code) + ": " +
      (outcome.on_console.empty() ? outcome.sentence : outcome.on_console));
  if (auto told = tellPort(outcome); !told)
    say("the outcome did not reach the port " + std::string(kOutcomePort) + ": " +
        told.error().sentence());
  if (!ours) ::_exit(outcome.exit_code);
  powerDown(wantedEnd());
}

}  // namespace warder::boot
