/* Puts an init where a test wants it, and tells how it ended. Built by the tests with cc.
 *
 *   init_place STATUS_FD [--first] [--no-proc] [--terminal] [TRACE] -- INIT...
 *
 *   --first     as PID 1 of a new pid namespace that has its own /proc
 *   --no-proc   with an empty /proc
 *   --terminal  as the leader of a session whose terminal is standard input, as `docker run -t`
 *   TRACE: --until-blocked         count system calls until TERM is blocked, then let it run
 *          --signal-at CALL NUMBER send that signal after that many system calls of the init and of
 *                                  what it starts
 *
 * Lines on STATUS_FD: "pid P", "blocked N" or "reached N" of a trace, "exited N" or "signaled N".
 * Everything that is inherited (mask, dispositions, descriptors, folder) is left as it is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMaxTraced = 32768 };

static struct {
  int status, first, no_proc, terminal, until_blocked, signal_at, signal_number;
  char** init;
} wanted;

static void fail(const char* what) {
  fprintf(stderr, "init_place: %s: %s\n", what, strerror(errno));
  _exit(99);
}

static void writeFile(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) fail(path);
  close(fd);
}

/* Whoever is not root needs a user namespace for the others; it is the same person inside. */
static void enterUserNamespace(void) {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  char map[64];
  if (unshare(CLONE_NEWUSER) != 0) fail("user namespace");
  writeFile("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "%u %u 1", uid, uid);
  writeFile("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "%u %u 1", gid, gid);
  writeFile("/proc/self/gid_map", map);
}

static void prepare(void) {
  if (wanted.first) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) fail("private mounts");
    if (mount(wanted.no_proc ? "tmpfs" : "proc", "/proc", wanted.no_proc ? "tmpfs" : "proc", 0,
              NULL) != 0)
      fail("/proc");
  }
  if (wanted.terminal) {
    setsid();
    if (ioctl(0, TIOCSCTTY, 0) != 0) fail("controlling terminal");
  }
}

static pid_t startInit(int gate) {
  const long flags = SIGCHLD | (wanted.first ? CLONE_NEWPID | CLONE_NEWNS : 0);
  const pid_t pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
  if (pid < 0) fail("clone");
  if (pid > 0) return pid;
  prepare();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  char go;
  if (read(gate, &go, 1) != 1) _exit(99);
  execvp(wanted.init[0], wanted.init);
  fail(wanted.init[0]);
  return -1;
}

static int blocksTerm(pid_t pid) {
  uint64_t mask = 0;
  if (ptrace(PTRACE_GETSIGMASK, pid, (void*)sizeof mask, &mask) != 0) return 0;
  return (mask >> (SIGTERM - 1) & 1) != 0;
}

/* At the end of each system call; returns whether the trace is done. */
static int judge(pid_t init, pid_t pid, int calls) {
  if (wanted.until_blocked) {
    if (pid != init || !blocksTerm(init)) return 0;
    dprintf(wanted.status, "blocked %d\n", calls);
    return 1;
  }
  if (calls < wanted.signal_at) return 0;
  kill(init, wanted.signal_number);
  dprintf(wanted.status, "reached %d\n", calls);
  return 1;
}

/* Lets go of everything by ending. */
static void trace(pid_t init, int go) {
  static char inside[kMaxTraced];
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
  if (ptrace(PTRACE_SEIZE, init, NULL, (void*)options) != 0) fail("seize");
  if (write(go, "g", 1) != 1) fail("gate");
  int started = 0, calls = 0, status = 0;
  for (;;) {
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid < 0) return;
    if (!WIFSTOPPED(status)) {
      if (pid == init) return;
      continue;
    }
    const int signal_of = WSTOPSIG(status), event = status >> 16;
    int deliver = 0;
    if (signal_of == (SIGTRAP | 0x80)) {
      if (started && pid < kMaxTraced) inside[pid] ^= 1;
      if (started && pid < kMaxTraced && !inside[pid] && judge(init, pid, ++calls)) return;
    } else if (event == PTRACE_EVENT_EXEC && pid == init && !started) {
      started = 1;
      inside[pid] = 1; /* the exec itself ends with a stop of its own */
      calls = -1;
    } else if (event == 0) {
      deliver = signal_of;
    }
    ptrace(PTRACE_SYSCALL, pid, NULL, (void*)(long)deliver);
  }
}

static void readArguments(int argc, char** argv) {
  if (argc < 4) fail("arguments");
  wanted.status = atoi(argv[1]);
  fcntl(wanted.status, F_SETFD, FD_CLOEXEC);
  for (int i = 2; i < argc; ++i) {
    const char* word = argv[i];
    if (strcmp(word, "--first") == 0) wanted.first = 1;
    if (strcmp(word, "--no-proc") == 0) wanted.no_proc = 1;
    if (strcmp(word, "--terminal") == 0) wanted.terminal = 1;
    if (strcmp(word, "--until-blocked") == 0) wanted.until_blocked = 1;
    if (strcmp(word, "--signal-at") == 0 && i + 2 < argc) {
      wanted.signal_at = atoi(argv[++i]);
      wanted.signal_number = atoi(argv[++i]);
    }
    if (strcmp(word, "--") == 0) {
      wanted.init = argv + i + 1;
      return;
    }
  }
  fail("no init");
}

int main(int argc, char** argv) {
  readArguments(argc, argv);
  if (wanted.first && geteuid() != 0) enterUserNamespace();
  int gate[2];
  if (pipe2(gate, O_CLOEXEC) != 0) fail("pipe");
  const pid_t init = startInit(gate[0]);
  signal(SIGCHLD, SIG_DFL); /* ours; the init may have been given another */
  if (wanted.until_blocked || wanted.signal_at > 0) {
    const pid_t tracer = fork();
    if (tracer == 0) {
      trace(init, gate[1]);
      _exit(0);
    }
    while (waitpid(tracer, NULL, 0) < 0 && errno == EINTR) {
    }
  } else if (write(gate[1], "g", 1) != 1) {
    fail("gate");
  }
  dprintf(wanted.status, "pid %d\n", init);
  /* What the init holds is what it inherited, not what we hold. */
  syscall(SYS_close_range, 3U, (unsigned)wanted.status - 1, 0);
  syscall(SYS_close_range, (unsigned)wanted.status + 1, ~0U, 0);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 2; ++fd) dup2(nothing, fd);
  if (chdir("/") != 0) fail("/");
  int status = 0;
  while (waitpid(init, &status, 0) < 0)
    if (errno != EINTR) fail("wait");
  dprintf(wanted.status, WIFEXITED(status) ? "exited %d\n" : "signaled %d\n",
          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return 0;
}
