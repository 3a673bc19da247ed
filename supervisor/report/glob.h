// `results.artifacts`: which paths below the workspace a pattern means. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace warder::report {

/// One pattern, segment by segment: `**` is any number of folders, the rest is fnmatch(3) within a
/// name (`*`, `?`, `[…]`; a leading dot is nothing special). A pattern that means a folder means
/// everything in it.
class Glob {
 public:
  /// How far into the pattern a path has come: the set of places it may be at.
  using Places = std::vector<bool>;

  explicit Glob(const std::string& pattern);
  const std::string& pattern() const { return pattern_; }

  Places start() const;
  /// From a folder to an entry in it.
  Places step(const Places& places, const std::string& name) const;
  /// The pattern means the entry itself.
  bool accepts(const Places& places) const { return places.back(); }
  /// Something below the entry may be meant.
  bool mayGoOn(const Places& places) const;
  /// The whole relative path at once.
  bool matches(std::string_view path) const;

 private:
  void skipStars(Places& places) const;
  std::string pattern_;
  std::vector<std::string> parts_;
};

}  // namespace warder::report
