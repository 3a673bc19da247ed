// The strict YAML layer: text to a small tree in which every node knows its place. Used for every
// YAML file that Warder reads, so that all of them have the same limits and the same refusals.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fault.h"

namespace warder::base {

inline constexpr std::size_t kMaxYamlBytes = 1024 * 1024;
inline constexpr std::size_t kMaxYamlDepth = 64;       // aliases counted where they are used
inline constexpr std::size_t kMaxYamlNodes = 100'000;  // after aliases are expanded

inline constexpr std::size_t kMostFaults = 100;  // of one file; hostile ones have no end

struct YamlNode;
using YamlPointer = std::shared_ptr<const YamlNode>;

struct YamlMark {
  int line = 1;    // from 1
  int column = 1;  // from 1, in characters
};

struct YamlEntry {
  std::string key;
  YamlMark mark;  // of the key
  YamlPointer value;
};

struct YamlNode {
  enum class Kind { Null, Scalar, Sequence, Mapping };
  Kind kind = Kind::Null;
  bool quoted = false;             // in quotes or a block scalar: certainly text
  std::string text;                // Scalar
  std::vector<YamlPointer> items;  // Sequence
  std::vector<YamlEntry> entries;  // Mapping, in the file's order, keys unique
  YamlMark mark;
};

/// Collects what is wrong with one file, in the file's order. At most kMostFaults are kept.
class YamlFaults {
 public:
  explicit YamlFaults(std::string file) : file_(std::move(file)) {}
  void add(YamlMark mark, std::string sentence);
  void add(const YamlNode& node, std::string sentence) { add(node.mark, std::move(sentence)); }
  void addForFile(std::string sentence);
  std::string where(YamlMark mark) const;
  const std::string& file() const { return file_; }
  bool empty() const { return found_.empty(); }
  /// Sorted by place; where more than kMostFaults were found, the last one says so.
  Faults list() const;

 private:
  struct Found {
    YamlMark mark;
    Fault fault;
  };
  std::string file_;
  std::vector<Found> found_;
  bool more_ = false;
};

/// Reads one document. Refused, each with its place: more than the limits above, text that is not
/// UTF-8 or holds control characters, text with a NUL, an open quote, several documents, duplicate
/// keys (both lines are named), merge keys, tags, keys that are not plain text, recursive aliases.
/// Null when the text is no usable tree; the faults say why. Duplicate keys leave the first one in
/// the tree.
YamlPointer parseYaml(std::string_view text, YamlFaults& faults);

}  // namespace warder::base
