// Answers for the scrubber, in pieces whose size is the first byte: however they are cut, the same
// comes out, as long as what went in, and no secret in it.
#include <cstdlib>
#include <string>

#include "secrets/vault/scrubber.h"

using namespace warder::vault;

namespace {

// None holds a character of what takes its place.
constexpr std::string_view kHidden[] = {"sk-ant-q", "sk-ant-q/y\\z\"", "k+/-_k+/"};

std::string scrub(const HiddenForms& forms, std::string_view bytes, std::size_t piece,
                  Scrubber::Mode mode) {
  Scrubber scrubber(forms, mode);
  WipedBytes out;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    scrubber.push(bytes.substr(at, piece), out);
  scrubber.finish(out);
  return {out.data(), out.size()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const auto forms = HiddenForms::make(kHidden, "PLACEHOLDER");
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t piece = data[0] % 32 + 1U;
  const std::string whole = scrub(*forms, bytes, bytes.size() + 1, Scrubber::Mode::Window);
  if (whole.size() != bytes.size()) std::abort();
  for (const std::string_view secret : kHidden)
    if (whole.find(secret) != std::string::npos) std::abort();
  if (scrub(*forms, bytes, piece, Scrubber::Mode::Window) != whole) std::abort();
  if (scrub(*forms, bytes, piece, Scrubber::Mode::Events) != whole) std::abort();
  return 0;
}
