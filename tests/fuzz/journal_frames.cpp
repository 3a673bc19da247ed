// A segment of any bytes: no crash, no endless loop, and every byte accounted for.
#include <cstdint>
#include <cstdlib>

#include "supervisor/journal/frame.h"
#include "supervisor/journal/verify.h"

using namespace warder::journal;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Scan scan = scanFrames(bytes);
  std::size_t accounted = scan.torn;
  for (const auto& frame : scan.frames) accounted += kFrameHeader + frame.payload.size();
  for (const auto& damage : scan.damage) accounted += damage.length;
  if (accounted != size || scan.sound_end + scan.torn != size) std::abort();

  // The bytes as lines of a forger who knows the checksum.
  ChainChecker checker;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    checker.add(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  (void)checker.done();

  // What is framed is read back.
  const auto frame = encodeFrame(bytes);
  if (frame && scanFrames(*frame).frames.at(0).payload != bytes) std::abort();
  return 0;
}
