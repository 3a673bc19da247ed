// What must not come back, in every spelling in which somebody may echo it, and taking it out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/vault/secret_bytes.h"
#include "supervisor/base/result.h"

namespace warder::vault {

/// Several secrets at once. Each is found as it is and in base64 (both alphabets), wherever in the
/// encoded text it began; each character of these as itself, as JSON escapes it (\u002d in any
/// case, \/, \", \\) or percent-encoded (%2d), mixed as one likes. Where several begin at the same
/// place the longest is taken. In base64 the first and last character, which other bytes share,
/// stay.
class HiddenForms {
 public:
  /// The views of `hidden` must outlive the forms; base64 goes into locked pages of their own.
  /// Errors: Internal for one shorter than 8 bytes; Kernel.
  static base::Result<HiddenForms> make(std::span<const std::string_view> hidden,
                                        std::string_view placeholder);

  HiddenForms(HiddenForms&&) noexcept = default;
  HiddenForms& operator=(HiddenForms&&) noexcept = default;
  HiddenForms(const HiddenForms&) = delete;
  HiddenForms& operator=(const HiddenForms&) = delete;

  /// Bytes in which an unfinished one may stand: one less than the longest spelling of the longest.
  std::size_t window() const { return window_; }

  struct Range {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  struct Replaced {
    std::size_t decided = 0;  // everything before it is as it may pass; at least Range::to
    std::size_t hits = 0;
  };
  /// Replaces in place all that begin in the range; they may end behind it. Spellings keep their
  /// form and length, so that lengths stay true and JSON stays JSON (only \/, \" and \\ stay as
  /// they are); they then spell the beginning of the placeholder, filled up with *, or in base64 x.
  Replaced replace(std::span<char> text, Range range) const;
  /// All of it; how many there were.
  std::size_t replaceAll(std::span<char> text) const {
    return replace(text, {0, text.size()}).hits;
  }

 private:
  struct Needle {
    std::string_view text;
    std::string replacement;
    bool is_base64 = false;  // + and - are one character, / and _ too
  };

  explicit HiddenForms(LockedPages pages);
  void add(Needle needle);
  void mark(unsigned char first, unsigned char second);
  std::size_t nextCandidate(std::span<const char> text, Range range) const;

  LockedPages pages_;
  std::vector<Needle> needles_;  // longest first
  /// One bit for each pair of bytes: by it some spelling may begin.
  std::vector<std::uint64_t, WipingAllocator<std::uint64_t>> pairs_;
  std::size_t window_ = 0;
};

}  // namespace warder::vault
