// What is wrong with an input file, told all at once and each with its place.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warder::base {

struct Fault {
  std::string where;     // "file:line:column", "file" or "--option"; may be empty
  std::string sentence;  // one sentence without a final stop: what, and the nearest valid thing
};

using Faults = std::vector<Fault>;

/// "where: sentence", or the sentence alone.
std::string render(const Fault& fault);

/// The candidate that a person most probably meant: the least edit distance (insert, delete,
/// replace, swap of neighbours), at most a third of the word's length plus one. Empty when none is
/// near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean \"X\"?" or, when nothing is near, "; known: a, b, c". Empty without candidates.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

/// The text in double quotes, escaped for a terminal and cut after 80 bytes.
std::string inQuotes(std::string_view text);

}  // namespace warder::base
