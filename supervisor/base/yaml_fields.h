// Typed reading of a YAML mapping. A key that was never asked for is an unknown key, so the list
// of valid keys cannot drift away from the code that reads them.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/base/yaml_document.h"

namespace warder::base {

/// Text: quoted, or plain and read as text by every YAML parser. `what` names it in the fault.
std::optional<std::string> yamlText(const YamlNode& node, const std::string& what,
                                    YamlFaults& faults);
/// A scalar as written, quoted or plain, for values with a grammar of their own (sizes).
std::optional<std::string> yamlWord(const YamlNode& node, const std::string& what,
                                    YamlFaults& faults);
std::optional<std::vector<std::string>> yamlTexts(const YamlNode& node, const std::string& what,
                                                  YamlFaults& faults);
/// "a list", "a mapping", "a single value" or "nothing".
std::string_view kindOf(const YamlNode& node);

struct IntegerRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// Every reader returns nullopt when the key is absent or wrong; wrong ones have left a fault.
class YamlFields {
 public:
  /// `path` is the dotted name of the mapping ("agent"), empty for the whole file. A node that is
  /// no mapping leaves one fault; all keys are then absent and none is missed.
  YamlFields(const YamlNode& node, std::string path, YamlFaults& faults);

  const YamlNode* find(const std::string& key);
  const YamlNode* need(const std::string& key);  // leaves a fault when it is absent

  std::optional<std::string> text(const std::string& key);
  std::optional<std::string> needText(const std::string& key);
  std::optional<std::vector<std::string>> texts(const std::string& key);
  std::optional<bool> boolean(const std::string& key);
  std::optional<std::uint64_t> integer(const std::string& key, IntegerRange range);
  std::optional<std::uint64_t> size(const std::string& key);
  std::optional<std::chrono::milliseconds> duration(const std::string& key);
  std::optional<mode_t> mode(const std::string& key);

  /// Only `version: 1` is known; absent is a fault.
  void needVersion();
  /// Leaves a fault for each key that nobody asked for, with the nearest valid one.
  void finish();

  std::string name(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  const YamlNode& node() const { return node_; }
  bool usable() const { return node_.kind == YamlNode::Kind::Mapping; }

 private:
  const YamlNode& node_;
  std::string path_;
  YamlFaults& faults_;
  std::vector<std::string> known_;
};

}  // namespace warder::base
