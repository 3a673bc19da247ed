// Who lives below this init, as /proc tells it. What entered the pid namespace from outside
// (`docker exec`, a process of a shared namespace) is not below it and is never touched.
#pragma once
#include <sys/types.h>

#include <vector>

namespace warder::init {

/// Every process whose ancestors lead to this one, but those in `known` and what is below them;
/// zombies left out: they are dead already and wait for their parent. For PID 1 a process whose
/// parent died meanwhile counts too: it is ours by now.
std::vector<pid_t> descendants(const std::vector<pid_t>& known);

/// Ends all of them with SIGKILL and returns how many there were. A program that forks faster than
/// /proc can be read escapes a plain loop, so everything is stopped first. As PID 1 that is one
/// call that the kernel makes whole (a fork that a signal overtakes does not happen; SIGSTOP cannot
/// be blocked), after which all but the descendants go on; as a subreaper it is a bounded number of
/// rounds, so ask again. Source: kill(2), fork in kernel/fork.c.
std::size_t killDescendants(const std::vector<pid_t>& known);

/// Sends one signal, and SIGCONT after it: a stopped process acts on its signals only when it goes
/// on. Returns how many there were.
std::size_t signalDescendants(int number, const std::vector<pid_t>& known);

}  // namespace warder::init
