// Request targets and heads: whatever comes in, only what fits goes on.
#include <cstdlib>

#include "collector/request.h"
#include "collector/target.h"
#include "supervisor/journal/digest.h"

using namespace warder::collector;

namespace {
void require(bool holds) {
  if (!holds) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Target target = parseTarget(bytes);
  require(target.run.empty() || isRunId(target.run));
  require(target.blob.empty() || warder::journal::isHexDigest(target.blob));
  require(target.asset.find('/') == std::string::npos);
  require(target.attempt <= kMaxAttempt);
  HeadReader reader;
  std::string rest = bytes;
  const auto whole = reader.take(rest);
  if (whole && *whole) {
    const Request request = reader.request();
    (void)parseTarget(request.target);
    (void)parseRange(request.range, 1000);
  }
  if (const auto range = parseRange(bytes, 1000)) require(range->first + range->length <= 1000);
  return 0;
}
