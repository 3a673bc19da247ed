// Hands connections to a listener that is bound elsewhere, by a BPF program of type sk_lookup.
#pragma once
#include "supervisor/base/fd.h"

namespace warder::launch {

/// From now on each TCP connection in the network that this thread is in goes to `v4` or `v6` (-1:
/// there is none, and such connections are refused), whatever address and port it asks for; only
/// those to 127/8 and ::1 find their listeners as ever. An accepted socket's own address is the one
/// that was asked for. When a listener is closed, what would have gone to it is refused.
/// Returns what holds the program in place: when the last copy of it is closed, the program is
/// gone. Errors: Kernel: EPERM without CAP_BPF (or CAP_SYS_ADMIN) and CAP_NET_ADMIN outside every
/// user namespace; EINVAL before Linux 5.9.
/// Source: Documentation/bpf/prog_sk_lookup.rst, bpf(2), bpf-helpers(7).
base::Result<base::UniqueFd> captureConnections(int v4, int v6);

}  // namespace warder::launch
