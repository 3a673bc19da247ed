// Starts a program of the image as the first child of an init, and says in one sentence why it
// could not be started.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <string>

#include "supervisor/base/result.h"

namespace warder::launch {

struct ProgramStart {
  char* const* argv = nullptr;  // ends in nullptr; [0] is looked up in PATH if it has no slash
  sigset_t mask{};              // what the program has blocked
  bool child_signal_ignored = false;  // SIGCHLD as this process inherited it
  bool terminal = false;  // standard input is a terminal whose foreground group is ours to give
};

/// The program runs when this returns, in a process group of its own (the terminal's foreground
/// group if asked), so that no signal can fall between fork and group. Descriptors, folder and
/// environment are inherited; a LISTEN_PID that names this process names the program.
/// A file without "#!" that is no ELF program is given to /bin/sh, as execvp(3) does.
/// Errors: NotFound when it or its interpreter is not there (shells say 127), Config when it
/// cannot be executed (126), Kernel when there can be no process.
base::Result<pid_t> startProgram(const ProgramStart& start);

/// What a shell exits with for an error of startProgram. Source: POSIX sh, 2.8.2.
int exitCodeOf(const base::Error& error);

}  // namespace warder::launch
