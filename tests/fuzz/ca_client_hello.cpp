// First bytes of a TLS connection: a verdict on the whole is the verdict on every longer text, and
// what is asked for is text.
#include <algorithm>
#include <cstdlib>

#include "secrets/ca/client_hello.h"

using namespace warder::ca;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HelloReading whole = readClientHello(bytes);
  const HelloReading half = readClientHello(bytes.substr(0, size / 2));
  require(half.verdict == HelloVerdict::NeedMore || half.verdict == whole.verdict);
  if (half.verdict == HelloVerdict::Hello) require(half.hello.sni == whole.hello.sni);
  if (size > kMostHelloBytes + 5 * kMostHelloRecords)
    require(whole.verdict != HelloVerdict::NeedMore);
  require((whole.verdict == HelloVerdict::Bad) == !whole.fault.empty());
  const auto& sni = whole.hello.sni;
  require(std::all_of(sni.begin(), sni.end(), [](char c) { return c > ' ' && c <= '~'; }));
  if (whole.verdict == HelloVerdict::Hello) require(whole.hello.has_sni == !sni.empty());
  return 0;
}
