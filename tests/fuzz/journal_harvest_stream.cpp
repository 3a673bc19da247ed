// The harvest stream comes from a process with the agent's uid: any bytes, in any pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "supervisor/journal/harvest_stream.h"

using namespace warder::journal;

namespace {

/// What the parser makes of the bytes when they come in pieces of this size.
std::string read(std::string_view bytes, std::size_t piece) {
  HarvestParser parser;
  std::string seen;
  std::uint64_t announced = 0, came = 0;
  const auto each = [&](const HarvestItem& item) -> warder::base::Status {
    if (const auto* file = std::get_if<HarvestFile>(&item)) {
      const std::string path = "/" + file->path.text + "/";
      if (path.find("/../") != std::string::npos || path.find("//") != std::string::npos)
        std::abort();
      announced = file->size;
      came = 0;
    }
    if (std::holds_alternative<HarvestPatch>(item)) announced = UINT64_MAX;
    if (const auto* data = std::get_if<HarvestData>(&item)) came += data->bytes.size();
    if (came > announced) std::abort();
    seen += std::to_string(item.index()) + " ";
    return {};
  };
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, piece);
    if (!parser.feed(part, each)) return seen + "fault";
    bytes.remove_prefix(part.size());
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (read(bytes, SIZE_MAX) != read(bytes, 1 + size / 7)) std::abort();
  const HarvestPath path = encodePath(bytes.substr(0, kMaxHarvestPath));
  if (path.text.find('\n') != std::string::npos) std::abort();
  return 0;
}
