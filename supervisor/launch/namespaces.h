// The namespaces of a box that `warder run` makes, and what init mounts in them first.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace warder::launch {

struct BoxNamespaces {
  bool new_user_namespace = false;  // true when the caller is not root
};

/// Puts this process into a new user namespace (if not root: uid 0 is the caller) and new ipc and
/// uts namespaces; its next child is PID 1 of a new pid namespace. The process must have
/// one thread. Errors say which setting of the machine is in the way. Source: user_namespaces(7),
/// pid_namespaces(7).
base::Result<BoxNamespaces> enterBoxNamespaces();

/// In init, PID 1: a mount namespace of its own with private mounts, a /proc of this pid namespace,
/// the host name.
base::Status prepareBox(const std::string& host_name);

}  // namespace warder::launch
