// The broker's doors as Unix sockets: one for each grant, at a path that the agent can connect to
// and cannot replace.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fd.h"

namespace warder::launch {

/// Where the agent finds them: NAME.sock, one for each grant.
inline constexpr const char* kDoorFolder = "/run/warder-doors";

class UnixDoors {
 public:
  UnixDoors() = default;
  UnixDoors(UnixDoors&& other) noexcept;
  UnixDoors& operator=(UnixDoors&& other) noexcept;
  UnixDoors(const UnixDoors&) = delete;
  UnixDoors& operator=(const UnixDoors&) = delete;
  /// Takes away what was made in place.
  ~UnixDoors();

  /// For a box that is still to be built: a file system of their own that is nowhere yet.
  /// Errors: Kernel. Source: fsopen, fsmount (Linux 5.2).
  static base::Result<UnixDoors> make(const std::vector<std::string>& names);
  /// In a place that is there: kDoorFolder, or a folder with the run's id where that is taken or
  /// /run cannot be written. Errors: Kernel, when no folder can be made.
  static base::Result<UnixDoors> makeInPlace(const std::vector<std::string>& names,
                                             const std::string& run_id);

  /// Is there something to show in a box?
  bool toShow() const { return bool(mount_); }
  /// Shows what `make` made at this path, an existing folder; read-only. Errors: Kernel.
  base::Status showAt(const std::string& path) const;

  /// Sockets that listen, in the order of the names; empty when there are no doors.
  std::vector<base::UniqueFd>& sockets() { return sockets_; }
  /// The path of a door as the agent sees it; empty when there is none.
  std::string pathOf(const std::string& name) const;

 private:
  base::Status listenIn(const std::string& folder, const std::vector<std::string>& names);

  base::UniqueFd mount_;  // of `make`
  std::string folder_;    // as the agent sees it
  bool in_place_ = false;
  std::vector<std::string> names_;
  std::vector<base::UniqueFd> sockets_;
};

}  // namespace warder::launch
