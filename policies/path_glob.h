// Paths of requests and the globs of rules.
#pragma once
#include <string_view>

namespace warder::policies {

/// * stands for any characters but "/", ** for any characters; both also for none. The digits of
/// escapes (%c3) match in either case. Cost is the
/// product of both lengths, whatever the pattern.
bool matchesPath(std::string_view pattern, std::string_view path);

/// Begins with "/", has no ".", ".." or empty segment (but the last), no backslash, control
/// character or space, and escapes (%XX) only what has to be escaped. What a server could read in
/// two ways is never matched.
bool isPlainPath(std::string_view path);

}  // namespace warder::policies
