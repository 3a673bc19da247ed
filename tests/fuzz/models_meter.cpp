// Answers for the meter and the scrubber, in pieces whose size is the first byte. The scrubber
// never lets the secret through and never changes a length.
#include <cstdlib>

#include "secrets/models/usage_meter.h"
#include "secrets/vault/scrubber.h"

using namespace warder::models;

namespace {

constexpr std::string_view kSecret = "sk-ant-x";

std::string scrub(std::string_view bytes, std::size_t piece, vault::Scrubber::Mode mode) {
  vault::Scrubber scrubber(kSecret, "PLACEHOLDER", mode);
  vault::WipedBytes out;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    scrubber.push(bytes.substr(at, piece), out);
  scrubber.finish(out);
  return {out.data(), out.size()};
}

void meter(std::string_view bytes, std::size_t piece, bool streamed) {
  UsageMeter whole(streamed);
  whole.feed(bytes);
  UsageMeter pieces(streamed);
  ModelScan model;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    pieces.feed(bytes.substr(at, piece));
    model.feed(bytes.substr(at, piece));
  }
  if (whole.usage().output > 1'000'000'000 || whole.model().size() > 128) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t piece = data[0] % 32 + 1U;
  meter(bytes, piece, true);
  meter(bytes, piece, false);
  for (const auto mode : {vault::Scrubber::Mode::Window, vault::Scrubber::Mode::Events}) {
    const std::string out = scrub(bytes, piece, mode);
    if (out.size() != bytes.size() || out.find(kSecret) != std::string::npos) std::abort();
  }
  return 0;
}
