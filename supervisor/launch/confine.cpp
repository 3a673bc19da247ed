#include "supervisor/launch/confine.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Status;

Status dropBoundingSet() {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return kernelError("cannot clear ambient capabilities");
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
      return kernelError("cannot drop capability " + std::to_string(capability) +
                         " from the bounding set, which takes CAP_SETPCAP");
  return {};
}

Status forbidDumps() {
  const rlimit none{0, 0};
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return kernelError("cannot become undumpable");
  if (::setrlimit(RLIMIT_CORE, &none) != 0) return kernelError("cannot forbid core files");
  return {};
}

bool hasCapability(int capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

bool mayChangeIds() {
  // To become another user; to make files that are that user's; to reach them afterwards; and to
  // end its processes, without which a stop would never be obeyed.
  constexpr int kNeeded[] = {CAP_SETUID, CAP_SETGID,       CAP_CHOWN,
                             CAP_FOWNER, CAP_DAC_OVERRIDE, CAP_KILL};
  return std::all_of(std::begin(kNeeded), std::end(kNeeded), hasCapability);
}

Status dropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return kernelError("cannot drop capabilities");
  return {};
}

Status forbidNewPrivileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return kernelError("cannot set no_new_privs");
  return {};
}

Status becomeUser(uid_t uid, gid_t gid) {
  // Who it is already, it may be in a container without any privilege.
  if (::getuid() == uid && ::geteuid() == uid && ::getgid() == gid && ::getegid() == gid &&
      ::setgroups(0, nullptr) != 0)
    return {};
  // EPERM here is the user namespace's "setgroups: deny"; where groups can be changed, root can.
  if (::setgroups(0, nullptr) != 0 && errno != EPERM)
    return kernelError("cannot drop supplementary groups");
  if (::setresgid(gid, gid, gid) != 0)
    return kernelError("cannot become group " + std::to_string(gid));
  if (::setresuid(uid, uid, uid) != 0)
    return kernelError("cannot become user " + std::to_string(uid));
  return {};
}

namespace {
// Debian 12's headers (6.1) do not know `scoped` (Linux 6.12, Landlock ABI 6).
struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};
constexpr std::uint64_t kScopeAbstractUnixSocket = 1;
constexpr std::uint64_t kScopeSignal = 2;
constexpr unsigned kCreateRulesetVersion = 1;
constexpr long kSysLandlockCreateRuleset = 444;
constexpr long kSysLandlockRestrictSelf = 446;
}  // namespace

int landlockAbi() {
  const long abi = ::syscall(kSysLandlockCreateRuleset, nullptr, 0, kCreateRulesetVersion);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

Status scopeSignals() {
  if (landlockAbi() < kSignalScopeAbi)
    return Error{Kind::NotFound, "this kernel's Landlock cannot scope signals (needs Linux 6.12)"};
  const RulesetAttributes attributes{0, 0, kScopeAbstractUnixSocket | kScopeSignal};
  const long ruleset = ::syscall(kSysLandlockCreateRuleset, &attributes, sizeof attributes, 0);
  if (ruleset < 0) return kernelError("cannot make a Landlock ruleset");
  const long restricted = ::syscall(kSysLandlockRestrictSelf, ruleset, 0);
  const int reason = errno;
  ::close(static_cast<int>(ruleset));
  if (restricted != 0) return kernelError("cannot enter a Landlock domain", reason);
  return {};
}

Status becomeService(uid_t uid, gid_t gid) {
  // A container without CAP_SETPCAP keeps its bounding set; no new privileges, no gain by it.
  if (auto dropped = dropBoundingSet(); !dropped && dropped.error().system_errno != EPERM)
    return dropped;
  if (uid != 0)
    if (auto became = becomeUser(uid, gid); !became) return became;
  if (auto dropped = dropCapabilities(); !dropped) return dropped;
  return forbidNewPrivileges();
}

}  // namespace warder::launch
