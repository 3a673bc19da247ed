#include "supervisor/launch/bind_mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "supervisor/base/wire.h"
#include "supervisor/launch/box_root.h"
#include "supervisor/launch/spawner.h"

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr std::chrono::milliseconds kStartLimit{10'000};

Status writeMap(pid_t pid, const char* name, const std::string& text) {
  auto file = base::openFile("/proc/" + std::to_string(pid) + "/" + name, O_WRONLY);
  if (!file) return file.error();
  // The kernel takes a map in one write only.
  if (::write(file->get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return kernelError("cannot write " + std::string(name));
  return {};
}

/// A user namespace with these maps. Its only process ends when its control socket is closed.
Result<UniqueFd> mappedUserNamespace(const BindMount& bind) {
  auto stage = startStage({"userns", {}, {}, 0, 0, false});
  if (!stage) return stage.error();
  auto ready = awaitReady(*stage, kStartLimit);
  if (!ready) return ready.error();
  if (ready->fds.size() != 1)
    return Error{Kind::Internal, "the userns stage handed over the wrong descriptors"};
  if (auto written = writeMap(stage->pid, "uid_map", bind.uid_map); !written)
    return written.error();
  if (auto written = writeMap(stage->pid, "gid_map", bind.gid_map); !written)
    return written.error();
  return std::move(ready->fds[0]);
}

}  // namespace

Status bindMount(const BindMount& bind) {
  const std::string activity = "showing " + bind.from;
  UniqueFd tree(
      ::open_tree(AT_FDCWD, bind.from.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (!tree) return kernelError("cannot open the tree " + bind.from);
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID;
  if (bind.read_only) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  if (!bind.devices) attributes.attr_set |= MOUNT_ATTR_NODEV;
  attributes.propagation = MS_PRIVATE;
  UniqueFd ids;
  if (!bind.uid_map.empty()) {
    auto made = mappedUserNamespace(bind);
    if (!made) return made.error().during(activity);
    ids = std::move(*made);
    attributes.attr_set |= MOUNT_ATTR_IDMAP;
    attributes.userns_fd = static_cast<std::uint64_t>(ids.get());
  }
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                      sizeof attributes) != 0) {
    if (ids)
      return kernelError("cannot show " + bind.from +
                         " as the agent's own (its file system has no idmapped mounts); give the "
                         "folder to the agent's user, or set agent.user to its owner");
    return kernelError("cannot restrict " + bind.from);
  }
  if (::move_mount(tree.get(), "", AT_FDCWD, bind.to.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return kernelError("cannot attach " + bind.from);
  return {};
}

std::string swappedIds(std::uint32_t on_disk, std::uint32_t shown) {
  const std::uint32_t low = std::min(on_disk, shown);
  const std::uint32_t high = std::max(on_disk, shown);
  std::string lines;
  const auto line = [&lines](std::uint64_t inside, std::uint64_t outside, std::uint64_t count) {
    if (count > 0)
      lines += std::to_string(inside) + " " + std::to_string(outside) + " " +
               std::to_string(count) + "\n";
  };
  constexpr std::uint64_t kLastId = 0xfffffffeULL;  // 2^32 - 1 is "no id"
  line(0, 0, low);
  line(low, high, 1);
  if (low != high) {
    line(low + 1ULL, low + 1ULL, high - low - 1ULL);
    line(high, low, 1);
  }
  line(high + 1ULL, high + 1ULL, kLastId - high);
  return lines;
}

int userNamespaceMain() {
  auto config = base::readStageConfig();
  if (!config) return 125;
  if (::unshare(CLONE_NEWUSER) != 0) {
    (void)base::sayFailed(base::kControlFd, "userns", kernelError("cannot make a user namespace"));
    return 125;
  }
  auto self = base::openFile("/proc/self/ns/user", O_RDONLY);
  if (!self) return 125;
  const int fds[] = {self->get()};
  if (!base::sendMessage(base::kControlFd, {{"ready", true}}, fds)) return 125;
  (void)base::receiveMessage(base::kControlFd);  // returns when init has written the maps
  return 0;
}

}  // namespace warder::launch
