#include "policies/path_glob.h"

#include <algorithm>
#include <vector>

namespace warder::policies {
namespace {

enum class Piece { Literal, Segment, Any };

struct Token {
  Piece piece = Piece::Literal;
  char literal = 0;
};

std::vector<Token> tokensOf(std::string_view pattern) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '*') {
      tokens.push_back({Piece::Literal, pattern[i]});
      continue;
    }
    const std::size_t first = i;
    while (i + 1 < pattern.size() && pattern[i + 1] == '*') ++i;
    tokens.push_back({i > first ? Piece::Any : Piece::Segment, 0});
  }
  return tokens;
}

/// Marks what is reachable without a character: a star may stand for none.
void skipStars(const std::vector<Token>& tokens, std::vector<char>& reached) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (reached[i] && tokens[i].piece != Piece::Literal) reached[i + 1] = 1;
  }
}

}  // namespace

bool matchesPath(std::string_view pattern, std::string_view path) {
  const std::vector<Token> tokens = tokensOf(pattern);
  // reached[i]: the path so far can be read by the first i tokens.
  std::vector<char> reached(tokens.size() + 1, 0);
  reached[0] = 1;
  skipStars(tokens, reached);
  for (const char character : path) {
    std::vector<char> next(tokens.size() + 1, 0);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!reached[i]) continue;
      const Token& token = tokens[i];
      if (token.piece == Piece::Literal && token.literal == character) next[i + 1] = 1;
      if (token.piece == Piece::Any || (token.piece == Piece::Segment && character != '/')) {
        next[i] = 1;
      }
    }
    skipStars(tokens, next);
    reached = std::move(next);
  }
  return reached.back() != 0;
}

bool isPlainPath(std::string_view path) {
  if (path.empty() || path.front() != '/') return false;
  const bool odd = std::any_of(path.begin(), path.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7F || c == '\\';
  });
  if (odd) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    if (segment == "." || segment == "..") return false;
    path.remove_prefix(slash);
  }
  return true;
}

}  // namespace warder::policies
