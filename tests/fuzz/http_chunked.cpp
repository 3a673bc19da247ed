// A chunked body fed in pieces whose size is the first byte: same content and verdict as in one.
#include <cstdlib>
#include <string>

#include "secrets/http/body_decoder.h"

using namespace warder::http;

namespace {

struct Outcome {
  std::string content;
  std::size_t consumed = 0;
  bool complete = false;
  bool bad = false;
  bool operator==(const Outcome&) const = default;
};

Outcome decode(std::string_view bytes, std::size_t piece) {
  BodyDecoder decoder({Framing::Kind::Chunked, 0});
  Outcome outcome;
  while (!bytes.empty()) {
    const auto step = decoder.step(bytes.substr(0, piece));
    if (step.consumed == 0) break;
    outcome.content += step.data;
    outcome.consumed += step.consumed;
    bytes.remove_prefix(step.consumed);
  }
  outcome.complete = decoder.complete();
  outcome.bad = decoder.bad();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Outcome whole = decode(bytes, bytes.size());
  if (!(whole == decode(bytes, data[0] % 16 + 1U))) std::abort();
  if (whole.content.size() > bytes.size()) std::abort();
  return 0;
}
