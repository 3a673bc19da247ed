#include "policies/public_suffix.h"

#include <cstdint>
#include <optional>
#include <span>

#include "supervisor/base/embedded.h"

namespace warder::policies {

std::span<const base::EmbeddedFile> public_suffixes();

namespace {

constexpr std::string_view kMagic = ".DAFSA@PSL_0   \n";

// Flags of an entry. Source: libpsl, src/psl-make-dafsa and src/psl.c.
constexpr int kException = 1;
constexpr int kWildcard = 2;
constexpr int kShared = 8;

/// The list as a deterministic acyclic finite state automaton: nodes are label characters, the last
/// one with the high bit set, then the offsets of the children, or a byte 100fffff with the flags.
/// Source: Chromium, net/base/lookup_string_in_fixed_set.cc. It is our own data, yet every read is
/// checked, since a truncated file would be read past its end.
class Automaton {
 public:
  explicit Automaton(std::string_view graph) : graph_(graph) {}

  /// The flags of exactly this entry.
  std::optional<int> find(std::string_view key) const {
    std::size_t node = 0;
    while (true) {
      const Step step = descend(node, key);
      if (step.kind != Step::Kind::Deeper) {
        return step.kind == Step::Kind::Found ? std::optional(step.flags) : std::nullopt;
      }
      node = step.node;
      key = key.substr(step.used);
    }
  }

 private:
  struct Step {
    enum class Kind { Absent, Found, Deeper };
    Kind kind = Kind::Absent;
    int flags = 0;
    std::size_t node = 0;
    std::size_t used = 0;  // characters of the key
  };

  unsigned at(std::size_t place) const {
    return place < graph_.size() ? static_cast<unsigned char>(graph_[place]) : 0xFFU;
  }

  /// A list of children: each offset counts from the one before, in one to three bytes.
  struct Children {
    std::size_t list = 0;
    std::size_t child = 0;
    bool more = true;
  };

  bool next(Children& children) const {
    if (!children.more || children.list >= graph_.size()) return false;
    const unsigned first = at(children.list);
    const unsigned size = (first & 0x60) == 0x60 ? 3 : (first & 0x60) == 0x40 ? 2 : 1;
    std::size_t offset = first & (size == 1 ? 0x3FU : 0x1FU);
    for (unsigned i = 1; i < size; ++i) offset = offset << 8 | at(children.list + i);
    children.child += offset;
    children.list += size;
    children.more = (first & 0x80) == 0;
    return true;
  }

  Step descend(std::size_t node, std::string_view key) const {
    Children children{node, node};
    while (next(children)) {
      const std::size_t used = matched(children.child, key);
      const unsigned end = at(children.child + used);
      if (used == key.size()) {
        const bool is_entry = (end & 0xE0) == 0x80 && children.child + used < graph_.size();
        if (is_entry) return {Step::Kind::Found, static_cast<int>(end & 0x1F)};
      } else if (end == (static_cast<unsigned char>(key[used]) | 0x80U)) {
        return {Step::Kind::Deeper, 0, children.child + used + 1, used + 1};
      }
      if (used > 0) return {};  // no two children begin with the same character
    }
    return {};
  }

  /// How many characters of the key stand at `place` as characters that are not the last one.
  std::size_t matched(std::size_t place, std::string_view key) const {
    std::size_t used = 0;
    while (used < key.size() && at(place + used) == static_cast<unsigned char>(key[used])) ++used;
    return used;
  }

  std::string_view graph_;
};

std::optional<int> flagsOf(std::string_view name) {
  const std::string_view file = public_suffixes().front().text;
  if (file.substr(0, kMagic.size()) != kMagic) return std::nullopt;
  return Automaton(file.substr(kMagic.size())).find(name);
}

Suffix kindOf(int flags) {
  return (flags & kShared) != 0 ? Suffix::Shared : Suffix::Public;
}

}  // namespace

Suffix suffixKind(std::string_view name) {
  if (const auto flags = flagsOf(name)) {
    return (*flags & kException) != 0 ? Suffix::None : kindOf(*flags);
  }
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return Suffix::None;
  const auto above = flagsOf(name.substr(dot + 1));
  return above && (*above & kWildcard) != 0 ? kindOf(*above) : Suffix::None;
}

}  // namespace warder::policies
