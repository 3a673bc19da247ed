// How long secrets may be, where they can be measured without being read.
#pragma once
#include <cstddef>
#include <string>

#include "supervisor/job/job_files.h"

namespace warder::job {

inline constexpr std::size_t kLineEnd = 2;

/// The bytes that a key or a token may have.
struct Length {
  const char* of;
  std::size_t least;
  std::size_t most;
};
inline constexpr Length kKey{"key", kMinSecretBytes, kMaxSecretBytes};
inline constexpr Length kToken{"token", kMinTokenBytes, kMaxTokenBytes};

/// Why a value of this many bytes cannot be used; empty when it can. Half a sentence.
inline std::string whyNoLength(std::size_t size, const Length& length) {
  if (size == 0) return "is empty";
  const std::string of = length.of;
  if (size < length.least) {
    return "is shorter than " + std::to_string(length.least) + " bytes, which is no " + of;
  }
  if (size > length.most + kLineEnd) {
    return "is larger than " + std::to_string(length.most / 1024) + " KiB, which is no " + of;
  }
  return {};
}

}  // namespace warder::job
