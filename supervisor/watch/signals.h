// Signals as descriptors: everything is blocked first, then read in the event loop.
#pragma once
#include <signal.h>
#include <sys/signalfd.h>

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"

namespace warder::watch {

/// What was blocked when this program was executed. Its entry point (entry_point.cpp) blocks
/// everything in its first system call; a program without it still has that mask.
sigset_t inheritedMask();
/// Gives that mask back: first thing in everything that is no init.
void restoreInheritedMask();

/// Was SIGCHLD ignored when this program was executed? (as blockAll found it)
bool inheritedChildIgnored();

/// Blocks every signal except the ones that report this process's own crash (SEGV, BUS, FPE, ILL,
/// ABRT, TRAP, SYS) and gives SIGCHLD its default disposition if it was inherited as ignored (the
/// kernel would keep no exit status). Call first in main: until then the kernel throws away
/// signals that are sent to the init of a pid namespace. Cannot fail.
/// Source: signal(7), pid_namespaces(7), wait(2) NOTES.
void blockAll();

/// A non-blocking signalfd for everything that blockAll blocks. Errors: Kernel.
base::Result<base::UniqueFd> openSignalFd();

/// All signals that wait on the descriptor, oldest first; empty when there are none. Equal
/// standard signals are merged by the kernel: one SIGCHLD may stand for many deaths.
std::vector<signalfd_siginfo> readSignals(int fd);

/// The number of "TERM", "SIGTERM", "15", "RTMIN+3", "RTMAX-2"; 0 when it is none.
int signalNumber(std::string_view name);

/// Does an init hand it on? Not KILL and STOP, which no process ever sees, nor CHLD, which is the
/// init's own, nor what blockAll leaves alone.
bool isHandedOn(int number);

/// "SIGTERM", "SIGRTMIN+3"; "signal 99" for a number that is none.
std::string signalName(int number);

}  // namespace warder::watch
