// The last line of an agent: any bytes.
#include <cstdint>
#include <cstdlib>

#include "supervisor/journal/output_digest.h"
#include "supervisor/report/fold.h"
#include "supervisor/report/last_words.h"
#include "supervisor/report/report_json.h"

using namespace warder;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto words = report::parseLastWords(bytes))
    if (boost::json::serialize(report::claimOf(*words)).size() > 64 * 1024) std::abort();
  (void)report::looksLikeStreamJson(bytes);

  journal::OutputDigest digest;
  digest.add(bytes);
  report::Fold fold;
  fold.add({"agent.exited", {{"code", 0}}});
  fold.add({"output.closed", digest.finish("stdout")});
  const auto printed = boost::json::serialize(fold.report());
  boost::system::error_code failure;
  boost::json::parse(printed, failure);
  if (failure || printed.size() > report::kMaxReport) std::abort();
  return 0;
}
