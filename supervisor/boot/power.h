// How a machine ends.
#pragma once
#include "supervisor/boot/settings.h"

namespace warder::boot {

/// Writes everything to the disks, unmounts or makes read-only what can be, and ends the machine.
/// Other processes must have ended. Source: reboot(2).
[[noreturn]] void powerDown(End end);

}  // namespace warder::boot
