// The file system that the agent sees in a box made by `warder run`: an empty root of its own with
// the machine's programs, or an unpacked image, shown read-only, an /etc that says who the agent
// is, an empty home and /tmp, and the workspace.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/launch/trust_files.h"
#include "supervisor/launch/unix_doors.h"

namespace warder::launch {

struct BoxRoot {
  std::string mount_point;             // an existing empty folder of this machine
  std::string workspace;               // shown at job::kWorkspaceInBox
  std::string image;                   // an unpacked image instead of this machine's programs
  std::vector<std::string> read_only;  // further paths, shown at the same place
  std::uint64_t tmp_size = 0;          // bytes of /tmp, home and /dev/shm together
  uid_t uid = 1000;                    // the agent, as the box shows it
  gid_t gid = 1000;
  /// Owner of the box's own files and of /tmp's top, as this namespace sees the agent: `uid` where
  /// ids are the machine's, 0 where only one id is mapped.
  uid_t owner_uid = 1000;
  gid_t owner_gid = 1000;
  bool can_map_owner = false;  // show a workspace of another owner as the agent's (idmapped mount)
  std::string host_name;
  const UnixDoors* doors = nullptr;  // shown at kDoorFolder
  bool name_server = false;          // the broker answers questions for names
  std::optional<Trust> trust;        // shown instead of the system's certificates
};

/// Where the harvest stage finds its own folder; for the agent it is empty.
inline constexpr const char* kPrivateInBox = "/run/warder";

/// Builds the root at `mount_point` in this mount namespace. Needs Linux 5.12 (mount_setattr).
/// Errors name the path. Source: mount_setattr(2), open_tree and move_mount (Linux 5.2).
base::Status buildBoxRoot(const BoxRoot& box);

/// The box's /etc/resolv.conf (pure). One server, by version 4, which every network has.
std::string resolverText(bool name_server);

/// Lines for the box's /etc/passwd and /etc/group (pure; BC-041).
std::string passwdText(uid_t uid, gid_t gid);
std::string groupText(gid_t gid);

/// Lines of an uid_map or gid_map that swap two ids and leave all others as they are.
/// Source: user_namespaces(7): "inside outside count".
std::string swappedIds(std::uint32_t on_disk, std::uint32_t shown);

/// The stage that lends its user namespace to an idmapped mount: says ready with the namespace's
/// descriptor and waits until its maps were written.
int userNamespaceMain();

}  // namespace warder::launch
