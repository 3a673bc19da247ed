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
  // openFile makes close-on-exec descriptors; these three must survive it.
  for (int number = 0; number <= 2; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    int fd = ::open(kConsole, O_RDWR | O_NOCTTY);
    if (fd < 0) fd = ::open("/dev/null", O_RDWR);
    if (fd < 0 || fd == number) continue;
    ::dup2(fd, number);
    ::close(fd);
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
