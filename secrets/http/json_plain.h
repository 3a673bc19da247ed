// Passes over the plain part of a JSON text, 16 bytes at a time where the processor can.
#pragma once
#include <bit>
#include <cstddef>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace warder::http {

#ifdef __SSE2__
inline constexpr std::ptrdiff_t kStride = 16;

/// A bit for each of 16 bytes that is more than plain text.
inline unsigned specialBytes(const char* at, bool ascii_only) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i last_control = _mm_set1_epi8(0x1f);
  __m128i found = _mm_cmpeq_epi8(_mm_max_epu8(bytes, last_control), last_control);
  found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
  found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  if (ascii_only) found = _mm_or_si128(found, bytes);
  return static_cast<unsigned>(_mm_movemask_epi8(found));
}
#else
inline constexpr std::ptrdiff_t kStride = 8;

/// The same for 8 bytes without vectors.
inline unsigned specialBytes(const char* at, bool ascii_only) {
  unsigned found = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const auto c = static_cast<unsigned char>(at[i]);
    const bool special = c < 0x20 || c == '"' || c == '\\' || (ascii_only && c >= 0x80);
    found |= static_cast<unsigned>(special) << i;
  }
  return found;
}
#endif

/// The first byte that is more than plain text: a quote, a backslash, a control character and, if
/// it matters, the first byte of a character beyond ASCII.
inline const char* passPlain(const char* at, const char* end, bool ascii_only) {
  for (; end - at >= kStride; at += kStride) {
    const unsigned found = specialBytes(at, ascii_only);
    if (found != 0) return at + std::countr_zero(found);
  }
  for (; at != end; ++at) {
    const auto c = static_cast<unsigned char>(*at);
    if (c < 0x20 || c == '"' || c == '\\' || (ascii_only && c >= 0x80)) break;
  }
  return at;
}

}  // namespace warder::http
