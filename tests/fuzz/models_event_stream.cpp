// AWS's event stream. The first byte chooses the pieces and whether the rest is the stream itself,
// or what its messages hold: then sizes and checksums are right, and each message has one of the
// headers that matter.
#include <cstdlib>

#include "secrets/models/usage_meter.h"
#include "tests/support/event_message.h"

using namespace warder::models;

namespace {

std::string meter(std::string_view bytes, std::size_t piece) {
  const auto meter = AnswerMeter::make(Dialect::Bedrock, "application/vnd.amazon.eventstream");
  for (std::size_t at = 0; at < bytes.size(); at += piece) meter->feed(bytes.substr(at, piece));
  const Usage usage = meter->usage();
  return meter->model() + "|" + meter->error() + "|" + meter->unreadable() + "|" +
         std::to_string(usage.input) + "|" + std::to_string(usage.output) +
         (meter->complete() ? "c" : "") + (meter->usageTold() ? "t" : "");
}

/// Each line of the input is a message: its first byte chooses the header.
std::string streamOf(std::string_view lines) {
  std::string stream;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.empty()) continue;
    const std::string_view rest = line.substr(1);
    switch (line.front()) {
      case 'c':
        stream += warder::support::eventMessage(
            {{":event-type", "chunk"}}, "{\"bytes\":\"" + warder::support::base64Of(rest) + "\"}");
        break;
      case 'm':
        stream += warder::support::eventMessage({{":event-type", "metadata"}}, rest);
        break;
      case 'x':
        stream += warder::support::eventMessage({{":exception-type", std::string(rest)}}, "{}");
        break;
      case 'h':
        stream += warder::support::eventMessageOf(rest, "{}");
        break;
      default:
        stream += warder::support::eventMessage({{":event-type", "chunk"}}, rest);
    }
  }
  return stream;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string bytes = data[0] % 2 == 0 ? std::string(rest) : streamOf(rest);
  const std::size_t piece = data[0] / 2U + 1U;
  if (meter(bytes, piece) != meter(bytes, bytes.size() + 1)) std::abort();
  return 0;
}
