// The seccomp filter of the agent's world. Part of confine.h.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "supervisor/launch/confine.h"

namespace warder::launch {

using base::Error;
using base::Kind;
using base::Status;

namespace {

constexpr auto kRefusedCalls = std::to_array<const char*>({
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_getfd",
    "kcmp",
    "process_madvise",
    "keyctl",
    "add_key",
    "request_key",
    "bpf",
    "userfaultfd",
    "perf_event_open",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "setns",
    "unshare",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "swapon",
    "swapoff",
    "reboot",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "acct",
    "quotactl",
    "quotactl_fd",
    "open_by_handle_at",
    "name_to_handle_at",
    "fanotify_init",
    "lookup_dcookie",
    "syslog",
    "settimeofday",
    "clock_settime",
    "adjtimex",
    "clock_adjtime",
    "sethostname",
    "setdomainname",
    "iopl",
    "ioperm",
    "modify_ldt",
    "vhangup",
    "nfsservctl",
    "move_pages",
    "migrate_pages",
    "mbind",
    "set_mempolicy",
});

constexpr std::array<int, 7> kNamespaceFlags = {CLONE_NEWNS,    CLONE_NEWUTS, CLONE_NEWIPC,
                                                CLONE_NEWPID,   CLONE_NEWNET, CLONE_NEWUSER,
                                                CLONE_NEWCGROUP};

class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW), &::seccomp_release) {}

  void refuse(int code, const char* name, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    const int call = ::seccomp_syscall_resolve_name(name);
    // A name that libseccomp does not know would be a call that is not refused.
    if (call == __NR_SCMP_ERROR)
      failure_ = EINVAL;
    else
      refuse(code, call, arguments);
  }

  void refuse(int code, int call, std::initializer_list<scmp_arg_cmp> arguments) {
    const auto count = static_cast<unsigned>(arguments.size());
    const int added =
        ::seccomp_rule_add_array(context_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(code)), call,
                                 count, arguments.begin());
    if (added != 0 && failure_ == 0) failure_ = -added;
  }

  Status load() {
    if (!context_) return Error{Kind::Kernel, "cannot make a seccomp filter", ENOMEM};
    // A call of a foreign architecture (i386, x32) would pass by other numbers.
    int failed = ::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    if (failed == 0) failed = -failure_;
    if (failed == 0) failed = ::seccomp_load(context_.get());
    if (failed != 0) return Error{Kind::Kernel, "cannot load the seccomp filter", -failed};
    return {};
  }

 private:
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  int failure_ = 0;
};

/// socket() is an allow-list of (family, protocol): UNIX; INET and INET6 with the default protocol,
/// TCP or UDP (MPTCP, SCTP and raw protocols have other numbers); NETLINK_ROUTE. libseccomp tests
/// an argument once a rule, so this list is a small filter of its own. It looks at the low halves:
/// the kernel takes both arguments as int.
Status allowListSockets() {
  constexpr auto kNumber = offsetof(seccomp_data, nr);
  constexpr auto kFamily = offsetof(seccomp_data, args[0]);
  constexpr auto kProtocol = offsetof(seccomp_data, args[2]);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 10),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFamily),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 8, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kProtocol),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 2, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kProtocol),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
    return base::kernelError("cannot load the socket filter");
  return {};
}

/// Which argument of a call is a mode, and which its flags where only O_CREAT makes it one.
struct ModeCall {
  int number;
  unsigned mode;
  int flags = -1;
};
constexpr int kFchmodat2 = 452;      // Linux 6.6, the same everywhere; libseccomp 2.5 has no name
constexpr int kTmpfile = 020000000;  // O_TMPFILE without O_DIRECTORY
constexpr ModeCall kModeCalls[] = {
    {SCMP_SYS(chmod), 1}, {SCMP_SYS(fchmod), 1},  {SCMP_SYS(fchmodat), 2}, {kFchmodat2, 2},
    {SCMP_SYS(mkdir), 1}, {SCMP_SYS(mkdirat), 2}, {SCMP_SYS(mknod), 1},    {SCMP_SYS(mknodat), 2},
    {SCMP_SYS(creat), 1}, {SCMP_SYS(open), 2, 1}, {SCMP_SYS(openat), 3, 2}};

/// A set-user-id file in the workspace would be one on the machine too, where the workspace's mount
/// flags do not hold.
void refuseSetIdModes(Filter& filter) {
  for (const auto& call : kModeCalls)
    for (const scmp_datum_t bit : {S_ISUID, S_ISGID}) {
      const scmp_arg_cmp mode{call.mode, SCMP_CMP_MASKED_EQ, bit, bit};
      if (call.flags < 0) filter.refuse(EPERM, call.number, {mode});
      if (call.flags < 0) continue;
      // Without one of these the mode is not read, and may be anything.
      for (const scmp_datum_t creates : {O_CREAT, kTmpfile}) {
        const auto place = static_cast<unsigned>(call.flags);
        filter.refuse(EPERM, call.number, {{place, SCMP_CMP_MASKED_EQ, creates, creates}, mode});
      }
    }
}

}  // namespace

Status filterAgentCalls(bool may_use_openat2) {
  Filter filter;
  for (const char* name : kRefusedCalls) filter.refuse(EPERM, name);
  // clone3's flags are behind a pointer; ENOSYS makes libraries fall back to clone.
  filter.refuse(ENOSYS, "clone3");
  for (const int flag : kNamespaceFlags) {
    const auto bit = static_cast<scmp_datum_t>(static_cast<unsigned>(flag));
    filter.refuse(EPERM, "clone", {SCMP_A0_64(SCMP_CMP_MASKED_EQ, bit, bit)});
  }
  filter.refuse(EPERM, "prlimit64", {SCMP_A0_32(SCMP_CMP_NE, 0)});
  refuseSetIdModes(filter);
  if (!may_use_openat2) filter.refuse(ENOSYS, "openat2");
  if (auto loaded = filter.load(); !loaded) return loaded;
  return allowListSockets();
}

}  // namespace warder::launch
