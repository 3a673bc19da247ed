/* Times what an init does as the first process of a pid namespace, with no shell in between.
 * Built by ./bench with cc. Each use prints one line of JSON; ./bench makes the table.
 *
 *   start ROUNDS CMD...          clone into a pid namespace until the namespace's end
 *   early ROUNDS MICROS INIT...  TERM that long after the exec of INIT: how many were lost
 *   forward ROUNDS INIT...       signal to INIT until the program under it has it
 *   burst COUNT ROUNDS INIT...   orphans that end at once: how many a second are reaped
 *   reach ROUNDS FILE CMD...     exec of CMD until "under-stamp FILE", which it starts, runs
 *
 * CMD and INIT run as PID 1 of a pid namespace. INIT... is completed by this program's own path and
 * a word: what the init runs is one of the functions under... below. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kLost = 77, kMaxWords = 64 };

static char self[4096];

static void fail(const char* what) {
  fprintf(stderr, "init_timing: %s: %s\n", what, strerror(errno));
  exit(1);
}

static double micros(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void rest(double us) {
  struct timespec span = {(time_t)(us / 1e6), (long)(us * 1e3) % 1000000000L};
  nanosleep(&span, NULL);
}

static int byValue(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double part(double* sorted, int count, int percent) {
  const int at = count * percent / 100;
  return sorted[at < count ? at : count - 1];
}

static int own_proc; /* the pid namespace has a /proc of its own, as a container has */

/* What runs in the child until its exec. The parent stands still meanwhile (CLONE_VFORK). */
static int execIt(void* words) {
  char** argv = words;
  if (own_proc && (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
                   mount("proc", "/proc", "proc", 0, NULL) != 0))
    _exit(127);
  execvp(argv[0], argv);
  _exit(127);
}

/* The program as PID 1 of a new pid namespace; returns when it has been executed. */
static pid_t asFirst(char** argv) {
  static char stack[65536] __attribute__((aligned(64)));
  const int flags = CLONE_NEWPID | CLONE_VM | CLONE_VFORK | SIGCHLD | (own_proc ? CLONE_NEWNS : 0);
  const pid_t pid = clone(execIt, stack + sizeof stack, flags, argv);
  if (pid < 0) fail("clone");
  return pid;
}

/* INIT... and then this program with the words that say what to be. */
static char** under(char** init, const char* role, const char* argument) {
  static char* words[kMaxWords];
  int count = 0;
  while (init[count] != NULL && count < kMaxWords - 4) {
    words[count] = init[count];
    ++count;
  }
  words[count++] = self;
  words[count++] = (char*)role;
  words[count++] = (char*)argument;
  words[count] = NULL;
  return words;
}

static int ended(pid_t pid, struct rusage* usage) {
  int status = 0;
  while (wait4(pid, &status, 0, usage) < 0)
    if (errno != EINTR) fail("wait4");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int timeStart(int rounds, char** argv) {
  double* took = calloc(rounds, sizeof *took);
  struct rusage usage;
  for (int i = 0; i < rounds; ++i) {
    const double begin = micros();
    if (ended(asFirst(argv), &usage) != 0) fail(argv[0]);
    took[i] = micros() - begin;
  }
  qsort(took, rounds, sizeof *took, byValue);
  printf("{\"p10\": %.1f, \"p50\": %.1f, \"faults\": %ld}\n", part(took, rounds, 10),
         part(took, rounds, 50), usage.ru_minflt);
  return 0;
}

/* Under the init: a TERM is counted, and the signal that follows it later asks for the count. */
static volatile sig_atomic_t terms;
static void countTerm(int number) {
  (void)number;
  ++terms;
}
static void tell(int number) {
  (void)number;
  _exit(terms > 0 ? 0 : kLost);
}
static void underEarly(void) {
  struct sigaction act = {.sa_handler = countTerm};
  sigaction(SIGTERM, &act, NULL);
  act.sa_handler = tell;
  sigaction(SIGRTMIN, &act, NULL);
  for (;;) pause();
}

/* SIGRTMIN has the higher number: where both wait, TERM is delivered first. A program that died of
 * SIGRTMIN, being not yet ready for it, has therefore seen no TERM either. */
static int countEarly(int rounds, double delay, char** init) {
  int lost = 0, other = 0;
  char** words = under(init, "under-early", NULL);
  prctl(PR_SET_TIMERSLACK, 1);
  for (int i = 0; i < rounds; ++i) {
    const pid_t pid = asFirst(words);
    if (delay > 0) rest(delay); /* asleep: whoever spins here keeps the init from its processor */
    kill(pid, SIGTERM);
    int status = 0;
    pid_t done = 0;
    for (int wait = 0; wait < 40 && done == 0; ++wait) {
      rest(1000);
      done = waitpid(pid, &status, WNOHANG);
    }
    for (int wait = 0; wait < 200 && done == 0; ++wait) {
      if (wait % 20 == 0) kill(pid, SIGRTMIN);
      rest(1000);
      done = waitpid(pid, &status, WNOHANG);
    }
    if (done == 0) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
    }
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const int missed = code == kLost || code == 128 + SIGRTMIN || code == 128 + SIGKILL;
    lost += missed;
    if (!missed && code != 0 && code != 128 + SIGTERM) other = code;
  }
  printf("{\"lost\": %d, \"of\": %d, \"other\": %d}\n", lost, rounds, other);
  return 0;
}

/* Shared between the sender and the program under the init, by a file: an init may close
 * descriptors that it inherits. */
struct Meeting {
  _Atomic uint32_t turn;
  _Atomic uint32_t ready;
  double received;
};

static struct Meeting* meet(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct Meeting)) != 0) fail(path);
  struct Meeting* meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (meeting == MAP_FAILED) fail("mmap");
  close(fd);
  return meeting;
}

static void waitWhile(_Atomic uint32_t* word, uint32_t value) {
  const struct timespec limit = {2, 0};
  while (*word == value)
    if (syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0) != 0 && errno == ETIMEDOUT)
      fail("a signal was never forwarded");
}

static void underForward(const char* path) {
  struct Meeting* meeting = meet(path);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  meeting->ready = 1;
  syscall(SYS_futex, &meeting->ready, FUTEX_WAKE, 1, NULL, NULL, 0);
  for (;;) {
    if (sigwaitinfo(&set, NULL) < 0) continue;
    meeting->received = micros();
    ++meeting->turn;
    syscall(SYS_futex, &meeting->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
  }
}

static int timeForward(int rounds, char** init) {
  char path[] = "/dev/shm/warder-bench-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) fail("mkstemp");
  close(fd);
  struct Meeting* meeting = meet(path);
  const pid_t pid = asFirst(under(init, "under-forward", path));
  waitWhile(&meeting->ready, 0);
  rest(20000);
  double* took = calloc(rounds, sizeof *took);
  for (int i = 0; i < rounds; ++i) {
    const uint32_t turn = meeting->turn;
    const double sent = micros();
    kill(pid, SIGUSR1);
    waitWhile(&meeting->turn, turn);
    took[i] = meeting->received - sent;
    rest(500 + 37 * (i % 16));
  }
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  unlink(path);
  qsort(took, rounds, sizeof *took, byValue);
  printf("{\"p50\": %.1f, \"p99\": %.1f}\n", part(took, rounds, 50), part(took, rounds, 99));
  return 0;
}

/* Makes COUNT orphans that all end when `go` is closed. The parent in the middle is gone before. */
static void makeOrphans(int count, int go[2]) {
  const pid_t middle = fork();
  if (middle < 0) fail("fork");
  if (middle > 0) {
    waitpid(middle, NULL, 0);
    return;
  }
  close(go[1]);
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid < 0) fail("fork of an orphan");
    char end;
    if (pid == 0) _exit(read(go[0], &end, 1) == 0 ? 0 : 1);
  }
  _exit(0);
}

/* kill(-1) reaches every process but PID 1 and the caller, zombies too: ESRCH means that none is
 * left unreaped. */
static int others(void) {
  return kill(-1, 0) == 0 || errno != ESRCH;
}

/* How many there still are, a second after the last burst. */
static int countOthers(void) {
  int count = 0;
  for (int wait = 0; wait < 100 && others(); ++wait) rest(10000);
  for (pid_t pid = 2; pid < (1 << 22) && others(); ++pid)
    count += pid != getpid() && kill(pid, 0) == 0;
  return count;
}

static int underBurst(const char* argument) {
  int count = 0, rounds = 0;
  if (sscanf(argument, "%d,%d", &count, &rounds) != 2) return 1;
  double total = 0;
  for (int round = 0; round < rounds; ++round) {
    int go[2];
    if (pipe(go) != 0) fail("pipe");
    makeOrphans(count, go);
    const double begin = micros();
    close(go[1]);
    while (others() && micros() - begin < 10e6) rest(500);
    total += micros() - begin;
    close(go[0]);
  }
  printf("{\"rate\": %.0f, \"left\": %d}\n", count * (double)rounds / total * 1e6, countOthers());
  fflush(stdout);
  return 0;
}

static int underStamp(const char* path) {
  const double now = micros();
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || write(fd, &now, sizeof now) != sizeof now) fail(path);
  return 0;
}

static int timeReach(int rounds, const char* path, char** argv) {
  double* took = calloc(rounds, sizeof *took);
  own_proc = 1;
  for (int i = 0; i < rounds; ++i) {
    const pid_t pid = asFirst(argv);
    const double begin = micros();
    double stamp = 0;
    if (ended(pid, NULL) != 0) fail(argv[0]);
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, &stamp, sizeof stamp) != sizeof stamp) fail(path);
    close(fd);
    took[i] = stamp - begin;
  }
  qsort(took, rounds, sizeof *took, byValue);
  printf("{\"p10\": %.1f, \"p50\": %.1f}\n", part(took, rounds, 10), part(took, rounds, 50));
  return 0;
}

int main(int argc, char** argv) {
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) fail("/proc/self/exe");
  const char* use = argc > 1 ? argv[1] : "";
  if (strcmp(use, "under-early") == 0) underEarly();
  if (strcmp(use, "under-forward") == 0 && argc > 2) underForward(argv[2]);
  if (strcmp(use, "under-burst") == 0 && argc > 2) return underBurst(argv[2]);
  if (strcmp(use, "under-stamp") == 0 && argc > 2) return underStamp(argv[2]);
  if (strcmp(use, "reach") == 0 && argc > 4) return timeReach(atoi(argv[2]), argv[3], argv + 4);
  if (strcmp(use, "start") == 0 && argc > 3) return timeStart(atoi(argv[2]), argv + 3);
  if (strcmp(use, "forward") == 0 && argc > 3) return timeForward(atoi(argv[2]), argv + 3);
  if (strcmp(use, "early") == 0 && argc > 4)
    return countEarly(atoi(argv[2]), atof(argv[3]), argv + 4);
  if (strcmp(use, "burst") == 0 && argc > 4) {
    char argument[64];
    snprintf(argument, sizeof argument, "%d,%d", atoi(argv[2]), atoi(argv[3]));
    return ended(asFirst(under(argv + 4, "under-burst", argument)), NULL);
  }
  fprintf(stderr, "init_timing: start, early, forward, burst or reach; see the source\n");
  return 2;
}
