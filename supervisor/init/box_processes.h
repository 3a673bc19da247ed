// Who lives in this pid namespace, as /proc tells it.
#pragma once
#include <sys/types.h>

#include <vector>

namespace warder::init {

/// Every process of /proc but PID 1 and those in `known`, zombies left out: they are dead already
/// and wait for their parent.
std::vector<pid_t> otherProcesses(const std::vector<pid_t>& known);

}  // namespace warder::init
