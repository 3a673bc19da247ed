// virtio-serial: named byte streams between the machine and whoever runs it.
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace warder::boot {

inline constexpr const char* kOutcomePort = "warder.outcome";

inline constexpr const char* kControlPort = "warder.control";

/// The device of the port that the VMM named so ("/dev/vport0p1"). Errors: NotFound.
base::Result<std::string> findPort(const std::string& name);

/// /dev/virtio-ports/NAME for each port, as udev makes them elsewhere.
void linkPorts();

/// Lets the kernel send this process SIGTERM whenever something is written to that port at its
/// other end: a machine that is asked to stop ends its run in good order. As long as the returned
/// descriptor is open. Errors: NotFound without such a port; Kernel. Source: fcntl(2), F_SETSIG.
base::Result<base::UniqueFd> stopByPort(const std::string& name);

}  // namespace warder::boot
