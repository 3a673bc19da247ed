// Reading files that a person named: never waits for a FIFO, never reads a device.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace warder::base {

/// The whole of a regular file, at most `limit` bytes. Errors: NotFound, Kernel, Config (a folder,
/// a FIFO, a device, or larger); each names the path.
Result<std::string> readRegularFile(const std::string& path, std::size_t limit);

}  // namespace warder::base
