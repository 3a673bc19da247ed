// Answers for the meter. The first byte chooses the dialect and the pieces, the second the form of
// the answer: what is read does not depend on the pieces.
#include <cstdlib>

#include "secrets/models/usage_meter.h"

using namespace warder::models;

namespace {

std::string meter(Dialect dialect, std::string_view type, std::string_view bytes,
                  std::size_t piece) {
  const auto meter = AnswerMeter::make(dialect, type);
  for (std::size_t at = 0; at < bytes.size(); at += piece) meter->feed(bytes.substr(at, piece));
  const Usage usage = meter->usage();
  for (const auto count : {usage.input, usage.output, usage.cache_read, usage.cache_write})
    if (count > 2'000'000'000) std::abort();
  if (meter->model().size() > 128 || meter->error().size() > 128) std::abort();
  if (meter->unreadable().size() > 40) std::abort();
  return meter->model() + "|" + meter->error() + "|" + meter->unreadable() + "|" +
         std::to_string(usage.input) + "|" + std::to_string(usage.output) +
         (meter->complete() ? "c" : "") + (meter->usageTold() ? "t" : "") +
         (meter->streamed() ? "s" : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::size_t piece = data[0] / 8U + 1U;
  const auto dialect = static_cast<Dialect>(data[0] % 5 + 1);
  const std::string_view type = data[1] % 2 == 0 ? "text/event-stream" : "application/json";
  if (meter(dialect, type, bytes, piece) != meter(dialect, type, bytes, bytes.size() + 1))
    std::abort();
  ModelScan model;
  model.feed(bytes);
  if (model.model().size() > 128) std::abort();
  return 0;
}
