// Hostile bytes as the agent's program: bounded reading, and no loader's name longer than a path.
#include <climits>
#include <cstdlib>

#include "supervisor/job/program_format.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  int reads = 0;
  const auto format = warder::job::readProgramFormat([&](std::uint64_t offset, std::size_t wanted) {
    if (++reads > 200 || wanted > PATH_MAX) std::abort();
    return offset < bytes.size() ? bytes.substr(offset, wanted) : std::string();
  });
  if (!format && format.error().doing.empty()) std::abort();
  if (format && format->is_script && format->interpreter.empty()) std::abort();
  if (format && format->interpreter.size() > PATH_MAX) std::abort();
  return 0;
}
