// How one journal line lies in a segment file: a frame that can be checked by itself, so that a
// write that was cut is told from a byte that rotted.
//
//   u32 magic | u32 payload length | u32 CRC-32C of length and payload | payload
//
// All numbers little-endian; the payload is one JSON line without its newline.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::journal {

/// "\xffWJ1". 0xff never occurs in UTF-8, so no payload can look like the start of a frame.
inline constexpr std::uint32_t kFrameMagic = 0x314a57ff;
inline constexpr std::size_t kFrameHeader = 12;
/// Longest payload in bytes; a longer event is refused by the writer.
inline constexpr std::size_t kMaxPayload = 1 << 20;

/// CRC-32C (Castagnoli, RFC 3720 appendix B.4); `seed` is the CRC of what came before.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

/// Errors: Internal when the payload is empty or longer than kMaxPayload.
base::Result<std::string> encodeFrame(std::string_view payload);

struct Frame {
  std::size_t offset = 0;    // of the frame's first byte
  std::string_view payload;  // points into the scanned bytes
};

/// Bytes between two sound frames that are no frame.
struct Damage {
  std::size_t offset = 0;
  std::size_t length = 0;
};

struct Scan {
  std::vector<Frame> frames;
  std::vector<Damage> damage;  // in the middle: a sound frame follows each
  std::size_t sound_end = 0;   // end of the last sound frame
  std::size_t torn = 0;        // bytes after it: a write that was cut, or is still under way
};

/// Reads every frame of a segment, or of the rest of one. Pure. `limit` bounds the frames that are
/// returned; the scan then ends behind the last of them with torn = 0.
Scan scanFrames(std::string_view bytes, std::size_t limit = SIZE_MAX);

}  // namespace warder::journal
