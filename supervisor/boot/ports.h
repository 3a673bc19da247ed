// virtio-serial: named byte streams between the machine and whoever runs it.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace warder::boot {

inline constexpr const char* kOutcomePort = "warder.outcome";

/// The device of the port that the VMM named so ("/dev/vport0p1"). Errors: NotFound.
base::Result<std::string> findPort(const std::string& name);

/// /dev/virtio-ports/NAME for each port, as udev makes them elsewhere.
void linkPorts();

}  // namespace warder::boot
