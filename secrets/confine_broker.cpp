#include "secrets/confine_broker.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

namespace warder::secrets {

using base::Status;

namespace {

constexpr std::array kDenied = {
    // Other programs and processes.
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
    "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "process_madvise", "kcmp",
    // Files: nothing is made, changed or removed.
    "creat", "truncate", "ftruncate", "fallocate", "mkdir", "mkdirat", "mknod", "mknodat", "link",
    "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "rmdir", "rename", "renameat",
    "renameat2", "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "setxattr",
    "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "utimensat",
    "memfd_create",
    // The machine and the kernel's surface.
    "mount", "umount2", "pivot_root", "chroot", "setns", "unshare", "open_tree", "move_mount",
    "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "bpf", "perf_event_open",
    "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key",
    "request_key", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    "reboot", "swapon", "swapoff", "acct", "quotactl", "settimeofday", "clock_settime",
    "sethostname", "setdomainname", "personality", "open_by_handle_at"};

struct ReleaseFilter {
  void operator()(void* filter) const { seccomp_release(filter); }
};

class FilterBuilder {
 public:
  FilterBuilder() : filter_(seccomp_init(SCMP_ACT_ALLOW)) {}

  void deny(const char* name, int error = EPERM) {
    const int number = seccomp_syscall_resolve_name(name);
    // A call that this architecture or this libseccomp does not know cannot be made by name.
    if (number == __NR_SCMP_ERROR || number < 0) return;
    note(seccomp_rule_add(filter_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number, 0));
  }

  void denyWhere(const char* name, scmp_arg_cmp when) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number < 0) return;
    note(seccomp_rule_add_array(filter_.get(), SCMP_ACT_ERRNO(EPERM), number, 1, &when));
  }

  Status load() {
    if (!filter_) return base::kernelError("cannot make the broker's system call filter", ENOMEM);
    if (problem_ == 0) problem_ = seccomp_load(filter_.get());
    if (problem_ < 0)
      return base::kernelError("cannot set the broker's system call filter", -problem_);
    return {};
  }

 private:
  void note(int result) {
    if (problem_ == 0) problem_ = result;
  }
  std::unique_ptr<void, ReleaseFilter> filter_;
  int problem_ = 0;
};

}  // namespace

Status confineBroker() {
  FilterBuilder filter;
  for (const char* name : kDenied) filter.deny(name);
  // ENOSYS makes libraries fall back to clone and openat, whose arguments can be looked at.
  filter.deny("clone3", ENOSYS);
  filter.deny("openat2", ENOSYS);
  filter.denyWhere("clone", SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  for (const int mode : {O_WRONLY, O_RDWR}) {
    filter.denyWhere("open",
                     SCMP_CMP(1, SCMP_CMP_MASKED_EQ, O_ACCMODE, static_cast<scmp_datum_t>(mode)));
    filter.denyWhere("openat",
                     SCMP_CMP(2, SCMP_CMP_MASKED_EQ, O_ACCMODE, static_cast<scmp_datum_t>(mode)));
  }
  filter.denyWhere("open", SCMP_CMP(1, SCMP_CMP_MASKED_EQ, O_CREAT, O_CREAT));
  filter.denyWhere("openat", SCMP_CMP(2, SCMP_CMP_MASKED_EQ, O_CREAT, O_CREAT));
  return filter.load();
}

}  // namespace warder::secrets
