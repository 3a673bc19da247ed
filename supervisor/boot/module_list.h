// Which kernel modules an initramfs brings, and with which parameters they are loaded. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::boot {

inline constexpr std::size_t kMostModules = 256;
inline constexpr std::size_t kLongestModuleList = std::size_t{64} * 1024;

/// File names below the list's folder, in the order in which they are loaded: one a line, blank
/// lines and lines that begin with "#" left out. Errors: Config for a name that leaves the folder,
/// is no plain .ko file, or for more than kMostModules.
base::Result<std::vector<std::string>> readModuleList(std::string_view text);

/// What the kernel command line says to a module: "virtio_mmio.device=X" is "device=X" for
/// virtio_mmio.ko. The kernel itself only does so for what is built in. "-" and "_" are the same in
/// names of modules.
std::string moduleParameters(const std::string& file, std::string_view command_line);

}  // namespace warder::boot
