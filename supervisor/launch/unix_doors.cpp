#include "supervisor/launch/unix_doors.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "supervisor/launch/listeners.h"

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

std::string fileOf(const std::string& folder, const std::string& name) {
  return folder + "/" + name + ".sock";
}

/// Who may search the folder may connect.
Result<UniqueFd> listenAt(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{Kind::Kernel, "the path of a socket is too long: " + path};
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return kernelError("cannot make a Unix socket");
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket.get(), name, sizeof address) != 0) return kernelError("cannot make " + path);
  if (::chmod(path.c_str(), 0666) != 0 || ::listen(socket.get(), kBacklog) != 0)
    return kernelError("cannot listen on " + path);
  return socket;
}

/// A file system in memory that is mounted nowhere.
Result<UniqueFd> freshFileSystem() {
  UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context) return kernelError("cannot make a file system for the doors");
  for (const auto& [key, value] : {std::pair{"mode", "0755"}, std::pair{"size", "64k"}})
    if (::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value, 0) != 0)
      return kernelError("cannot set " + std::string(key) + " of the doors' file system");
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return kernelError("cannot make a file system for the doors");
  const unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  UniqueFd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, attributes));
  if (!mount) return kernelError("cannot mount the doors' file system");
  return mount;
}

/// A folder that was not there before, so that nobody has put anything into it.
Result<std::string> freshFolder(const std::string& run_id) {
  const std::string own = "warder-doors-" + run_id;
  const std::string candidates[] = {kDoorFolder, "/run/" + own, "/tmp/" + own, "/dev/shm/" + own};
  for (const auto& folder : candidates)
    if (::mkdir(folder.c_str(), 0755) == 0) {
      if (::chmod(folder.c_str(), 0755) == 0) return folder;
      return kernelError("cannot set the mode of " + folder);
    }
  return kernelError("neither /run nor /tmp nor /dev/shm can hold a folder for sockets");
}

}  // namespace

UnixDoors::UnixDoors(UnixDoors&& other) noexcept {
  *this = std::move(other);
}

UnixDoors& UnixDoors::operator=(UnixDoors&& other) noexcept {
  std::swap(mount_, other.mount_);
  std::swap(folder_, other.folder_);
  std::swap(in_place_, other.in_place_);
  std::swap(names_, other.names_);
  std::swap(sockets_, other.sockets_);
  return *this;
}

UnixDoors::~UnixDoors() {
  if (!in_place_) return;
  for (const auto& name : names_) ::unlink(fileOf(folder_, name).c_str());
  ::rmdir(folder_.c_str());
}

Status UnixDoors::listenIn(const std::string& folder, const std::vector<std::string>& names) {
  for (const auto& name : names) {
    auto socket = listenAt(fileOf(folder, name));
    if (!socket) return socket.error();
    names_.push_back(name);
    sockets_.push_back(std::move(*socket));
  }
  return {};
}

Result<UnixDoors> UnixDoors::make(const std::vector<std::string>& names) {
  UnixDoors doors;
  if (names.empty()) return doors;
  auto mount = freshFileSystem();
  if (!mount) return mount.error();
  const std::string folder = "/proc/self/fd/" + std::to_string(mount->get());
  if (auto listening = doors.listenIn(folder, names); !listening) return listening.error();
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(mount->get(), "", AT_EMPTY_PATH, &read_only, sizeof read_only) != 0)
    return kernelError("cannot make the doors' file system read-only");
  doors.mount_ = std::move(*mount);
  doors.folder_ = kDoorFolder;
  return doors;
}

Result<UnixDoors> UnixDoors::makeInPlace(const std::vector<std::string>& names,
                                         const std::string& run_id) {
  UnixDoors doors;
  if (names.empty()) return doors;
  auto folder = freshFolder(run_id);
  if (!folder) return folder.error();
  doors.folder_ = *folder;
  doors.in_place_ = true;
  if (auto listening = doors.listenIn(*folder, names); !listening) return listening.error();
  return doors;
}

Status UnixDoors::showAt(const std::string& path) const {
  if (!mount_) return {};
  if (::move_mount(mount_.get(), "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return kernelError("cannot show the doors at " + path);
  return {};
}

std::string UnixDoors::pathOf(const std::string& name) const {
  const bool made = std::find(names_.begin(), names_.end(), name) != names_.end();
  return made ? fileOf(folder_, name) : "";
}

}  // namespace warder::launch
