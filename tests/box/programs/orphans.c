// Leaves orphans to whoever is the first process: orphans COUNT CODE
// COUNT of them end at once; one more waits for SIGTERM, says so, and ends. Then exits with CODE.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void asked(int number) {
  (void)number;
  (void)!write(1, "asked\n", 6);
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int left = atoi(argv[1]); left >= 0; --left) {
    const pid_t child = fork();
    if (child < 0) return 3;
    if (child > 0) {
      waitpid(child, NULL, 0);
      continue;
    }
    if (fork() != 0) _exit(0);
    if (left > 0) _exit(0);
    signal(SIGTERM, asked);
    (void)!write(1, "up\n", 3);
    for (;;) pause();
  }
  usleep(300000);  // until the last one says that it is up
  return atoi(argv[2]);
}
