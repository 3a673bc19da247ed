#include "supervisor/base/fault.h"

#include <algorithm>

#include "supervisor/base/log.h"

namespace warder::base {
namespace {

// Longer words are not compared: nobody mistypes a name of this length, and the cost is quadratic.
constexpr std::size_t kLongestWord = 64;

std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string render(const Fault& fault) {
  return fault.where.empty() ? fault.sentence : fault.where + ": " + fault.sentence;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongestWord) return {};
  std::size_t best = word.size() / 3 + 2;
  std::string found;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = editDistance(word, candidate);
    if (distance < best && distance < std::max(word.size(), candidate.size())) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  if (candidates.empty()) return {};
  const std::string near = nearest(word, candidates);
  if (!near.empty()) return "; did you mean \"" + near + "\"?";
  std::string text = "; known: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i > 0) text += ", ";
    text += candidates[i];
  }
  return text;
}

std::string inQuotes(std::string_view text) {
  constexpr std::size_t kShown = 80;
  if (text.size() <= kShown) return '"' + escapeForTerminal(text) + '"';
  return '"' + escapeForTerminal(text.substr(0, kShown)) + "...\"";
}

}  // namespace warder::base
