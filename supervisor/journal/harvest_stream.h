// How the harvest stage hands files to the scribe. The writer runs with the agent's uid, so the
// reader believes nothing: everything is bounded, and the first byte that is out of order ends it.
//
//   frame = u8 kind | u32 length (little-endian) | payload
//
//   F {path, size, mode, mtime_ms[, path_encoding]}   a file begins; D* and E follow
//   P {}                                              the patch begins; D* and E follow
//   D bytes                                           at most kMaxHarvestData
//   E {[sha256][, changed][, note][, left_out_count, left_out: [{path, reason[, path_encoding]}]]}
//                                                     the end of the file or patch; changed: it did
//                                                     not keep still (a patch is then thrown away);
//                                                     left_out: what a patch does not tell of
//   S {path, reason[, path_encoding]}                 a file that is not sent
//   N {reason}                                        there is no patch
//   Z {}                                              the end: nothing may follow
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::journal {

inline constexpr std::size_t kMaxHarvestHead = 32 * 1024;   // payload of all kinds but D
inline constexpr std::size_t kMaxHarvestData = 256 * 1024;  // payload of D
inline constexpr std::size_t kMaxHarvestPath = 4096;

/// A name as JSON can carry it. Bytes that are no UTF-8, and control characters, are written %XX;
/// `percent` says so, and then a real % is %25.
struct HarvestPath {
  std::string text;
  bool percent = false;
};

struct HarvestFile {
  HarvestPath path;
  std::uint64_t size = 0;  // bytes that were announced; fewer may come, more may not
  std::uint32_t mode = 0;
  std::int64_t mtime_ms = 0;
};
struct HarvestPatch {};
struct HarvestData {
  std::string_view bytes;
};
struct HarvestSkipped {
  HarvestPath path;
  std::string reason;
};
struct HarvestEnd {
  std::string sha256;  // 64 hexadecimal digits, or empty
  bool changed = false;
  std::string note;
  std::uint64_t left_out_count = 0;           // of a patch: paths that it does not tell of
  std::vector<HarvestSkipped> left_out = {};  // the first of them
};
struct HarvestNoPatch {
  std::string reason;
};
struct HarvestDone {};
using HarvestItem = std::variant<HarvestFile, HarvestPatch, HarvestData, HarvestEnd, HarvestSkipped,
                                 HarvestNoPatch, HarvestDone>;

HarvestPath encodePath(std::string_view bytes);
/// One frame. Precondition: data at most kMaxHarvestData, texts at most kMaxHarvestPath bytes.
std::string encodeHarvest(const HarvestItem& item);

/// Reads the stream, in pieces of any size. Pure.
class HarvestParser {
 public:
  using Each = std::function<base::Status(const HarvestItem&)>;
  /// Calls `each` for every complete item; an error of `each` is passed on.
  /// Errors: Peer, with a sentence, when the stream breaks its rules; then call no more.
  base::Status feed(std::string_view bytes, const Each& each);
  /// The stream may end here: Done was read, or nothing at all.
  bool complete() const { return state_ == State::Done; }

 private:
  enum class State { Between, InFile, InPatch, Done };
  base::Status take(char kind, std::string_view payload, const Each& each);
  base::Result<HarvestItem> decode(char kind, std::string_view payload);

  std::string buffer_;
  State state_ = State::Between;
  std::uint64_t left_ = 0;  // bytes of the open file that may still come
};

}  // namespace warder::journal
