// Files of /etc that a boot writes, also where /etc cannot be written.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace warder::boot {

/// Writes /etc/NAME. Where the root file system is read-only or full, the file is written in memory
/// and shown in its place; where that fails too, or was needed, `warnings` gets a sentence.
void writeEtc(const std::string& name, std::string_view text, std::vector<std::string>& warnings);

}  // namespace warder::boot
