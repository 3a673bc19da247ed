// How a machine ends.
#pragma once
#include "supervisor/boot/settings.h"

namespace warder::boot {

/// Writes everything to the disks, unmounts or makes read-only what can be, and ends the machine.
/// Other processes must have ended. Source: reboot(2).
[[noreturn]] void powerDown(End end);

/// From now on a crash of this process (SIGSEGV, SIGABRT, …) says so on standard error and ends the
/// machine, instead of ending in a kernel's panic about its first process. Programs that are
/// executed do not inherit it.
void guardAgainstCrash(End end);

}  // namespace warder::boot
