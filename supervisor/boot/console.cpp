#include "supervisor/boot/console.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"

namespace warder::boot {

namespace {
constexpr const char* kConsole = "/dev/console";
}

void openConsole() {
  for (int number = 0; number <= 2; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // A new descriptor takes the lowest free number, which is this one.
    auto opened = base::openFile(kConsole, O_RDWR | O_NOCTTY);
    if (!opened) opened = base::openFile("/dev/null", O_RDWR);
    if (!opened || opened->get() != number) continue;
    (void)base::setCloseOnExec(number, false);
    (void)opened->release();
  }
}

void say(std::string_view sentence) {
  const std::string line = "warder[boot] " + base::escapeForTerminal(sentence) + "\n";
  auto console = base::openFile(kConsole, O_WRONLY | O_NOCTTY);
  (void)base::writeAll(console ? console->get() : STDERR_FILENO, line);
}

void drainConsole() {
  if (auto console = base::openFile(kConsole, O_WRONLY | O_NOCTTY)) ::tcdrain(console->get());
}

}  // namespace warder::boot
