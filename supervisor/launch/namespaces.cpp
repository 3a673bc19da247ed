#include "supervisor/launch/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "supervisor/base/fd.h"

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;

namespace {

Status writeSelf(const std::string& name, const std::string& text) {
  auto file = base::openFile("/proc/self/" + name, O_WRONLY);
  if (!file) return file.error();
  return base::writeAll(file->get(), text);
}

/// Why an ordinary user may not make a user namespace here, from the machine's own settings.
std::string reasonNoUserNamespaces() {
  const auto says = [](const char* path, char value) {
    auto text = base::readFile(path, 64);
    return text && !text->empty() && (*text)[0] == value;
  };
  if (says("/proc/sys/kernel/unprivileged_userns_clone", '0'))
    return "; set kernel.unprivileged_userns_clone=1, or run as root";
  if (says("/proc/sys/user/max_user_namespaces", '0'))
    return "; set user.max_user_namespaces above 0, or run as root";
  if (says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
    return "; set kernel.apparmor_restrict_unprivileged_userns=0, or run as root";
  return "; run as root, or where user namespaces are allowed";
}

}  // namespace

Result<BoxNamespaces> enterBoxNamespaces() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  BoxNamespaces made;
  if (uid != 0) {
    if (::unshare(CLONE_NEWUSER) != 0) {
      const int reason = errno;
      return kernelError("cannot make a user namespace" + reasonNoUserNamespaces(), reason);
    }
    made.new_user_namespace = true;
    if (auto written = writeSelf("setgroups", "deny"); !written) return written.error();
    if (auto written = writeSelf("uid_map", "0 " + std::to_string(uid) + " 1"); !written)
      return written.error();
    if (auto written = writeSelf("gid_map", "0 " + std::to_string(gid) + " 1"); !written)
      return written.error();
  }
  if (::unshare(CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID) != 0)
    return kernelError("cannot make the box's namespaces (ipc, uts, pid)");
  return made;
}

Status prepareBox(const std::string& host_name) {
  if (::unshare(CLONE_NEWNS) != 0) return kernelError("cannot make a mount namespace");
  if (::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0)
    return kernelError("cannot make mounts private");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return kernelError("cannot mount /proc of the box");
  if (::sethostname(host_name.data(), host_name.size()) != 0)
    return kernelError("cannot set the host name");
  return {};
}

}  // namespace warder::launch
