// The ways in which a secret may be spelled in text, and taking it out of them. Pure.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace warder::vault {

/// The longest spelling of one character: \uXXXX.
inline constexpr std::size_t kLongestForm = 6;

/// Replaces the secret wherever it stands in `text`, in place, and says how often it did. Each of
/// its characters may be written as itself, as JSON escapes it (\u002d in any case, \/, \", \\) or
/// percent-encoded (%2d), mixed as one likes. Spellings keep their form and length, so that lengths
/// stay true and JSON stays JSON; what they spell is `replacement`, which is as long as the secret.
/// Only \/, \" and \\ stay as they are.
std::size_t replaceKey(std::string_view secret, std::string_view replacement, std::span<char> text);

/// The beginning of the placeholder, filled up with * to `length`.
std::string replacementOf(std::string_view placeholder, std::size_t length);

}  // namespace warder::vault
