// Sockets with a path: how processes of this machine find a run that is alive.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "supervisor/base/fd.h"

namespace warder::base {

/// Who is at the other end, as this process's namespaces see it. A pid of 0 is a process that this
/// pid namespace does not have. Source: unix(7), SO_PEERCRED.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  bool ended = false;  // the process that connected is dead (where the kernel has SO_PEERPIDFD)
};

/// A SOCK_SEQPACKET socket that listens at FOLDER/NAME, mode 0600, non-blocking; what a dead
/// process left there goes first. The folder's path may be longer than a socket's name. Errors:
/// Kernel.
Result<UniqueFd> listenLocally(const std::string& folder, const std::string& name);

/// The next connection, non-blocking; nullopt when there is none. Errors: Kernel.
Result<std::optional<UniqueFd>> acceptLocally(int listener);

/// Connects to FOLDER/NAME; waits at most `limit_ms` for that and for each answer.
/// Errors: NotFound when there is no socket or nobody listens; Kernel.
Result<UniqueFd> connectLocally(const std::string& folder, const std::string& name, int limit_ms);

Result<Peer> peerOf(int socket);

}  // namespace warder::base
