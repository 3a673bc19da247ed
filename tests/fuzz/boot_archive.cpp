// The job's archive: every path stays in its folder, whatever the size of the pieces.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "supervisor/boot/archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warder;
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 97 + 1;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  boot::ArchiveReader whole, pieces;
  const bool taken = bool(whole.feed(bytes));
  bool taken_too = true;
  while (taken_too && !bytes.empty()) {
    taken_too = bool(pieces.feed(bytes.substr(0, piece)));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (taken != taken_too || whole.files().size() != pieces.files().size()) std::abort();
  for (const auto& file : whole.files())
    if (file.path.empty() || file.path.starts_with('/') || file.path.starts_with("../") ||
        file.path.find("/../") != std::string::npos || file.path.size() > boot::kLongestJobPath)
      std::abort();
  return 0;
}
