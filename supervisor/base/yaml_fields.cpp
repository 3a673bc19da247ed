#include "supervisor/base/yaml_fields.h"

#include <algorithm>

#include "supervisor/base/units.h"
#include "supervisor/base/yaml_scalar.h"

namespace warder::base {
namespace {

/// Runs one of the unit parsers on a scalar and turns its Error into a fault.
template <class Parse>
auto parseWord(const YamlNode* node, const std::string& name, YamlFaults& faults, Parse parse)
    -> std::optional<typename decltype(parse(std::string_view{}))::value_type> {
  if (node == nullptr) return std::nullopt;
  const auto word = yamlWord(*node, name, faults);
  if (!word) return std::nullopt;
  const auto value = parse(*word);
  if (value) return *value;
  faults.add(*node, name + ": " + value.error().sentence());
  return std::nullopt;
}

}  // namespace

std::string_view kindOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::Null:
      return "nothing";
    case YamlNode::Kind::Scalar:
      return "a single value";
    case YamlNode::Kind::Sequence:
      return "a list";
    case YamlNode::Kind::Mapping:
      return "a mapping";
  }
  return "nothing";
}

std::optional<std::string> yamlWord(const YamlNode& node, const std::string& what,
                                    YamlFaults& faults) {
  if (node.kind == YamlNode::Kind::Scalar) return node.text;
  faults.add(node, what + " takes a single value; this is " + std::string(kindOf(node)));
  return std::nullopt;
}

std::optional<std::string> yamlText(const YamlNode& node, const std::string& what,
                                    YamlFaults& faults) {
  if (node.kind == YamlNode::Kind::Null) {
    faults.add(node, what + " takes text; this is nothing (null); text that reads so needs quotes");
    return std::nullopt;
  }
  if (node.kind != YamlNode::Kind::Scalar) {
    faults.add(node, what + " takes text; this is " + std::string(kindOf(node)));
    return std::nullopt;
  }
  const std::string_view other = node.quoted ? std::string_view{} : otherReading(node.text);
  if (other.empty()) return node.text;
  faults.add(node, what + " takes text, but some parsers read " + node.text + " as " +
                       std::string(other) + "; write it in quotes: " + inQuotes(node.text));
  return std::nullopt;
}

std::optional<std::vector<std::string>> yamlTexts(const YamlNode& node, const std::string& what,
                                                  YamlFaults& faults) {
  if (node.kind != YamlNode::Kind::Sequence) {
    faults.add(node, what + " takes a list of text; this is " + std::string(kindOf(node)));
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    auto text = yamlText(*node.items[i], what + "[" + std::to_string(i) + "]", faults);
    if (text) texts.push_back(std::move(*text));
  }
  if (texts.size() != node.items.size()) return std::nullopt;
  return texts;
}

YamlFields::YamlFields(const YamlNode& node, std::string path, YamlFaults& faults)
    : node_(node), path_(std::move(path)), faults_(faults) {
  if (usable()) return;
  const std::string what = path_.empty() ? "the file" : path_;
  faults_.add(node_, what + " takes keys with values; this is " + std::string(kindOf(node_)));
}

const YamlNode* YamlFields::find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  for (const YamlEntry& entry : node_.entries) {
    if (entry.key == key) return entry.value.get();
  }
  return nullptr;
}

const YamlNode* YamlFields::need(const std::string& key) {
  const YamlNode* found = find(key);
  if (found == nullptr && usable()) faults_.add(node_, name(key) + " is missing");
  return found;
}

std::optional<std::string> YamlFields::text(const std::string& key) {
  const YamlNode* node = find(key);
  return node == nullptr ? std::nullopt : yamlText(*node, name(key), faults_);
}

std::optional<std::string> YamlFields::needText(const std::string& key) {
  const YamlNode* node = need(key);
  return node == nullptr ? std::nullopt : yamlText(*node, name(key), faults_);
}

std::optional<std::vector<std::string>> YamlFields::texts(const std::string& key) {
  const YamlNode* node = find(key);
  return node == nullptr ? std::nullopt : yamlTexts(*node, name(key), faults_);
}

std::optional<bool> YamlFields::boolean(const std::string& key) {
  const YamlNode* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind == YamlNode::Kind::Scalar && !node->quoted) {
    if (node->text == "true") return true;
    if (node->text == "false") return false;
  }
  faults_.add(*node, name(key) + " takes true or false, in lower case and without quotes");
  return std::nullopt;
}

std::optional<std::uint64_t> YamlFields::integer(const std::string& key, IntegerRange range) {
  const YamlNode* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind == YamlNode::Kind::Scalar && !node->quoted && isPlainDecimal(node->text)) {
    const std::uint64_t value = std::stoull(node->text);
    if (value >= range.least && value <= range.most) return value;
  }
  faults_.add(*node, name(key) + " takes a whole number from " + std::to_string(range.least) +
                         " to " + std::to_string(range.most) +
                         ", in plain decimal and without quotes");
  return std::nullopt;
}

std::optional<std::uint64_t> YamlFields::size(const std::string& key) {
  return parseWord(find(key), name(key), faults_, parseSize);
}

std::optional<std::chrono::milliseconds> YamlFields::duration(const std::string& key) {
  return parseWord(find(key), name(key), faults_, parseDuration);
}

std::optional<mode_t> YamlFields::mode(const std::string& key) {
  const YamlNode* node = find(key);
  if (node != nullptr && node->kind == YamlNode::Kind::Scalar && !node->quoted &&
      node->text.substr(0, 2) != "0o") {
    faults_.add(*node, name(key) + ": " + inQuotes(node->text) +
                           " is octal for one parser and decimal for another; write octal digits "
                           "in quotes, such as \"0755\", or 0o755");
    return std::nullopt;
  }
  return parseWord(node, name(key), faults_, parseMode);
}

void YamlFields::needVersion() {
  const YamlNode* node = need("version");
  if (node == nullptr) return;
  const bool one = node->kind == YamlNode::Kind::Scalar && node->text == "1";
  if (one && !node->quoted) return;
  faults_.add(*node, one ? "version: only 1 is known, a number; write it without quotes"
                         : "version: only 1 is known");
}

void YamlFields::finish() {
  for (const YamlEntry& entry : node_.entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    faults_.add(entry.mark,
                "unknown key " + inQuotes(name(entry.key)) + suggestion(entry.key, known_));
  }
}

}  // namespace warder::base
