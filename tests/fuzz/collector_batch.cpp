// Batches of journal lines, and the summary that is folded from them.
#include "collector/batch.h"
#include "collector/summary.h"

using namespace warder::collector;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  const auto batch = parseBatch(body, {"3f1c2a54-0000-4000-8000-000000000001", 1});
  if (!batch) return 0;
  json::object summary;
  for (const auto& line : *batch) {
    addToSummary(summary, line);
    (void)blobOf(line);
  }
  return 0;
}
