#include "policies/path_glob.h"

#include <algorithm>
#include <string>
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

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// "%c3" and "%C3" are the same (RFC 3986 section 6.2.2.1); a rule must not miss one of them.
std::string withUpperEscapes(std::string_view path) {
  std::string upper(path);
  for (std::size_t i = 0; i + 2 < upper.size(); ++i) {
    if (upper[i] != '%') continue;
    for (char* c : {&upper[i + 1], &upper[i + 2]}) {
      if (*c >= 'a' && *c <= 'f') *c = static_cast<char>(*c - 'a' + 'A');
    }
  }
  return upper;
}

/// Is each %XX whole, and for a byte that has to be escaped? An escaped letter, digit, "-", ".",
/// "_" or "~" means the same as the plain one (RFC 3986 section 6.2.2.2), so "/%61dmin" would pass
/// a rule about "/admin"; what an escaped slash, backslash or NUL means is up to the server.
bool areEscapesNeeded(std::string_view path) {
  for (std::size_t at = path.find('%'); at != std::string_view::npos; at = path.find('%', at + 1)) {
    if (at + 2 >= path.size()) return false;
    const int high = hexValue(path[at + 1]);
    const int low = hexValue(path[at + 2]);
    if (high < 0 || low < 0) return false;
    const auto byte = static_cast<unsigned char>(high * 16 + low);
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    const bool digit = byte >= '0' && byte <= '9';
    constexpr std::string_view kOther = "-._~/\\";
    if (letter || digit || byte == 0) return false;
    if (kOther.find(static_cast<char>(byte)) != std::string_view::npos) return false;
  }
  return true;
}

/// No ".", "..", and nothing empty but the last one: servers fold them.
bool areSegmentsPlain(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    if (segment == "." || segment == "..") return false;
    if (segment.empty() && slash < path.size()) return false;
    path.remove_prefix(slash);
  }
  return true;
}

}  // namespace

bool matchesPath(std::string_view pattern, std::string_view path) {
  const std::vector<Token> tokens = tokensOf(withUpperEscapes(pattern));
  // reached[i]: the path so far can be read by the first i tokens.
  std::vector<char> reached(tokens.size() + 1, 0);
  reached[0] = 1;
  skipStars(tokens, reached);
  for (const char character : withUpperEscapes(path)) {
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
  return !odd && areEscapesNeeded(path) && areSegmentsPlain(path);
}

}  // namespace warder::policies
