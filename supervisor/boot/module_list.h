// Which kernel modules an initramfs brings, and with which parameters they are loaded. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::boot {

inline constexpr std::size_t kMostModules = 256;
inline constexpr std::size_t kLongestModuleList = std::size_t{64} * 1024;

struct Module {
  std::string file;   // below the list's folder
  std::string alias;  // it is loaded only where a device answers to this; always when empty
};

/// In the order in which they are loaded: one a line, FILE or "FILE ALIAS", blank lines and lines
/// that begin with "#" left out. Errors: Config for a name that leaves the folder, is no plain .ko
/// file, or for more than kMostModules.
base::Result<std::vector<Module>> readModuleList(std::string_view text);

/// Where the kernel lists the devices that an alias speaks of: "virtio:d00000001v*" is of the bus
/// "virtio". Source: Linux, Documentation/ABI/testing/sysfs-bus-*, the file "modalias".
std::string busOf(std::string_view alias);
/// Whether a device with this content of "modalias" is meant. "*" stands for anything, as in
/// modules.alias(5).
bool answersTo(std::string_view modalias, const std::string& alias);

/// What the kernel command line says to a module: "virtio_mmio.device=X" is "device=X" for
/// virtio_mmio.ko. The kernel itself only does so for what is built in. "-" and "_" are the same in
/// names of modules.
std::string moduleParameters(const std::string& file, std::string_view command_line);

}  // namespace warder::boot
