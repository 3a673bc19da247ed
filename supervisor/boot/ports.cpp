#include "supervisor/boot/ports.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "supervisor/base/fault.h"
#include "supervisor/base/fd.h"
#include "supervisor/boot/file_steps.h"

namespace warder::boot {

using base::Error;
using base::Kind;
namespace fs = std::filesystem;

namespace {

constexpr const char* kPorts = "/sys/class/virtio-ports";

/// Calls `take` with the device and the name of each port that has one.
void forEachPort(const std::function<void(const std::string&, const std::string&)>& take) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(kPorts, failure)) {
    auto name = base::readFile(entry.path().string() + "/name", 256);
    if (!name) continue;
    while (name->ends_with('\n')) name->pop_back();
    if (!name->empty() && name->find('/') == std::string::npos)
      take("/dev/" + entry.path().filename().string(), *name);
  }
}

}  // namespace

base::Result<std::string> findPort(const std::string& name) {
  std::string device, names;
  forEachPort([&](const std::string& of, const std::string& has) {
    if (has == name && device.empty()) device = of;
    names += (names.empty() ? "" : ", ") + has;
  });
  if (!device.empty()) return device;
  return Error{Kind::NotFound, "there is no virtio-serial port " + base::inQuotes(name) +
                                   " (ports: " + (names.empty() ? "none" : names) + ")"};
}

base::Result<base::UniqueFd> stopByPort(const std::string& name) {
  auto device = findPort(name);
  if (!device) return device.error();
  auto port = base::openFile(*device, O_RDONLY | O_NONBLOCK);
  if (!port) return port.error();
  const int fd = port->get();
  if (::fcntl(fd, F_SETOWN, ::getpid()) != 0 || ::fcntl(fd, F_SETSIG, SIGTERM) != 0 ||
      ::fcntl(fd, F_SETFL, O_RDONLY | O_NONBLOCK | O_ASYNC) != 0)
    return base::kernelError("cannot be stopped by the port " + name);
  return std::move(*port);
}

void linkPorts() {
  (void)makeFolder("/dev/virtio-ports");
  forEachPort([](const std::string& device, const std::string& name) {
    (void)makeLink(device, "/dev/virtio-ports/" + name);
  });
}

}  // namespace warder::boot
