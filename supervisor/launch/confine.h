// The walls around a process that is about to become something less trusted. Each function is one
// wall; each failure is an Error, and the caller does not go on.
#pragma once
#include <sys/types.h>

#include "supervisor/base/result.h"
#include "supervisor/base/service_ids.h"

namespace warder::launch {

/// Ids of the supervisor's own services where more than one id can be used (root on this machine or
/// in a container). Files of the spool belong to kSpoolGid, so that the courier may read them.
inline constexpr uid_t kSourceUid = base::kFirstServiceId;
inline constexpr uid_t kBrokerUid = base::kFirstServiceId + 1;
inline constexpr uid_t kScribeUid = base::kFirstServiceId + 2;
inline constexpr uid_t kCourierUid = base::kLastServiceId;
inline constexpr gid_t kSpoolGid = base::kFirstServiceId;

/// No capability in any set, nor a way to get one back: ambient, bounding, permitted, effective and
/// inheritable are empty, no new privileges. Call while CAP_SETPCAP is still there.
/// Source: capabilities(7), prctl(2).
base::Status dropBoundingSet();
base::Status dropCapabilities();
base::Status forbidNewPrivileges();

/// Is this capability (CAP_… of linux/capability.h) effective in this process?
bool hasCapability(int capability);
/// Can this process become other users and still rule over what they start and write, so that
/// services and agent can have ids of their own? It takes CAP_SETUID, CAP_SETGID, CAP_CHOWN,
/// CAP_FOWNER, CAP_DAC_OVERRIDE and CAP_KILL.
bool mayChangeIds();

/// Not dumpable (what /proc shows of this process belongs to root) and no core file.
base::Status forbidDumps();

/// Supplementary groups, group and user become exactly these. Where the user namespace denies
/// setgroups (it maps one id only), the groups stay as they are, as they do for a process without
/// privileges that is that user already.
base::Status becomeUser(uid_t uid, gid_t gid);

/// Signals and abstract Unix sockets reach only processes of the same Landlock domain.
/// Errors: NotFound when the kernel has no Landlock ABI 6 (Linux 6.12).
base::Status scopeSignals();
/// The first Landlock ABI that can do so (Linux 6.12).
inline constexpr int kSignalScopeAbi = 6;
/// Highest Landlock ABI of this kernel, 0 when there is none.
int landlockAbi();

/// System calls that an agent has no business with: other socket families than UNIX, INET, INET6
/// and route netlink, namespaces, mounts, ptrace and its kin, keyrings, bpf, perf, io_uring,
/// userfaultfd, limits of other processes, foreign architectures. Refused with an errno, never with
/// a kill, so that programs can fall back. Modes with set-user-id or set-group-id are refused;
/// those of openat2 lie behind a pointer, so that call looks unknown unless it is our own
/// harvest's.
base::Status filterAgentCalls(bool may_use_openat2 = false);

/// Turns this process into a service of the supervisor: uid and gid where `uid` is not 0, no
/// capabilities, no new privileges.
base::Status becomeService(uid_t uid, gid_t gid);

}  // namespace warder::launch
