// Who lives in this pid namespace, as /proc tells it.
#pragma once
#include <sys/types.h>

#include <vector>

namespace warder::init {

/// Every process of /proc but PID 1 and those in `known`, zombies left out: they are dead already
/// and wait for their parent.
std::vector<pid_t> otherProcesses(const std::vector<pid_t>& known);

/// Ends all of them with SIGKILL and returns how many there were. A program that forks faster than
/// /proc can be read escapes a plain loop, so everything but PID 1 is stopped first, in one call
/// that the kernel makes whole (a fork that a signal overtakes does not happen; SIGSTOP cannot be
/// blocked); then `known` goes on. Only for PID 1. Source: kill(2), fork in kernel/fork.c.
std::size_t killOtherProcesses(const std::vector<pid_t>& known);

}  // namespace warder::init
