#include "supervisor/base/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

#include "supervisor/base/utf8.h"

namespace warder::base {
namespace {

/// Ends the parse: what follows cannot be read any more.
struct Abort : std::runtime_error {
  Abort(YamlMark at, const std::string& sentence) : std::runtime_error(sentence), mark(at) {}
  YamlMark mark;
};

YamlMark markOf(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

/// Builds the tree from yaml-cpp's events. Its own loader is not used: it builds first and cannot
/// be bounded, and it hides duplicate keys. Depth is counted here, before the parser recurses.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlFaults& faults) : faults_(faults) {}
  YamlPointer root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto node = make(YamlNode::Kind::Null, mark, "?");
    place(node, {1, 0}, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = make(YamlNode::Kind::Scalar, mark, tag);
    node->quoted = tag == "!";
    node->text = value;
    // Only an escape in double quotes can make one. Keys come through here too.
    if (value.find('\0') != std::string::npos) {
      faults_.add(node->mark,
                  "this text holds a NUL byte (\\0); programs would cut it there without a word");
    }
    place(node, {1, 0}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw Abort(markOf(mark),
                  "this alias stands inside its own anchor; a tree cannot hold itself");
    }
    if (expectsKey()) throw Abort(markOf(mark), "a key must be written out, not taken by an alias");
    place(found->second.node, found->second.size, 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::Sequence, mark, tag), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::Mapping, mark, tag), anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Size {
    std::size_t nodes = 0;   // with aliases expanded
    std::size_t height = 0;  // lists and mappings on the way to the deepest value
  };
  struct Anchored {
    YamlPointer node;
    Size size;
  };
  struct Open {
    std::shared_ptr<YamlNode> node;
    Size size;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool drop_value = false;
    std::string key;
    YamlMark key_mark;
    std::map<std::string, int> lines;  // line of each key so far
  };

  std::shared_ptr<YamlNode> make(YamlNode::Kind kind, const YAML::Mark& mark,
                                 const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Abort(markOf(mark), "tags (\"!...\") are not read; write the value itself");
    }
    if (++made_ > kMaxYamlNodes) tooMany(markOf(mark));
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->mark = markOf(mark);
    return node;
  }

  bool expectsKey() const {
    return !stack_.empty() && stack_.back().node->kind == YamlNode::Kind::Mapping &&
           !stack_.back().has_key;
  }

  void open(std::shared_ptr<YamlNode> node, YAML::anchor_t anchor) {
    if (expectsKey()) throw Abort(node->mark, "a key must be text, not a list or a mapping");
    if (stack_.size() >= kMaxYamlDepth) tooDeep(node->mark);
    Open opened;
    opened.node = std::move(node);
    opened.size = {1, 1};
    opened.anchor = anchor;
    stack_.push_back(std::move(opened));
  }

  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    place(done.node, done.size, done.anchor);
  }

  void place(const YamlPointer& node, Size size, YAML::anchor_t anchor) {
    if (expectsKey()) {
      takeKey(*node);
      return;
    }
    if (anchor != 0) anchors_[anchor] = {node, size};
    if (stack_.size() + size.height > kMaxYamlDepth) tooDeep(node->mark);
    if (stack_.empty()) {
      root = node;
      return;
    }
    Open& parent = stack_.back();
    parent.size.nodes += size.nodes;
    parent.size.height = std::max(parent.size.height, size.height + 1);
    if (parent.size.nodes > kMaxYamlNodes) tooMany(node->mark);
    if (parent.node->kind == YamlNode::Kind::Sequence) {
      parent.node->items.push_back(node);
      return;
    }
    parent.has_key = false;
    if (!parent.drop_value) parent.node->entries.push_back({parent.key, parent.key_mark, node});
  }

  void takeKey(const YamlNode& key) {
    Open& parent = stack_.back();
    if (key.kind == YamlNode::Kind::Null)
      throw Abort(key.mark, "a key is missing before the colon");
    if (key.text == "<<" && !key.quoted) {
      throw Abort(key.mark, "merge keys (\"<<\") are not read; write the keys out");
    }
    const auto [first, fresh] = parent.lines.emplace(key.text, key.mark.line);
    if (!fresh) {
      faults_.add(key.mark, "key " + inQuotes(key.text) + " stands twice, first in line " +
                                std::to_string(first->second) + "; keep one");
    }
    parent.has_key = true;
    parent.drop_value = !fresh;
    parent.key = key.text;
    parent.key_mark = key.mark;
    ++parent.size.nodes;
  }

  [[noreturn]] static void tooDeep(YamlMark mark) {
    throw Abort(mark, "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
  }
  [[noreturn]] static void tooMany(YamlMark mark) {
    throw Abort(mark,
                "more than " + std::to_string(kMaxYamlNodes) + " values once aliases are expanded");
  }

  YamlFaults& faults_;
  std::vector<Open> stack_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::size_t made_ = 0;
};

/// Position of the first byte that is neither text nor line structure, or npos. Names the reason.
std::size_t firstBadByte(std::string_view text, std::string& reason) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      if ((byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') || byte == 0x7F) {
        reason = "control characters are not read";
        return i;
      }
      ++i;
      continue;
    }
    const std::size_t length = utf8Length(text.substr(i));
    if (length == 0) {
      reason = "this is not UTF-8";
      return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

YamlMark markAt(std::string_view text, std::size_t position) {
  YamlMark mark;
  for (std::size_t i = 0; i < position; ++i) {
    ++mark.column;
    if (text[i] == '\n') mark = {mark.line + 1, 1};
  }
  return mark;
}

std::string_view lineOf(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

bool hasTabInIndentation(std::string_view line) {
  return line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
}

/// What yaml-cpp could not read, in the words of the one who has to mend it.
void addParserFault(const YAML::Exception& error, std::string_view text, YamlFaults& faults) {
  YamlMark mark = markOf(error.mark);
  const YamlMark end = markAt(text, text.size());
  if (mark.line > end.line || (mark.line == end.line && mark.column > end.column)) mark = end;
  if (error.msg == YAML::ErrorMsg::DOC_IN_SCALAR || error.msg == YAML::ErrorMsg::EOF_IN_SCALAR) {
    faults.add(mark, "this is not YAML: a quote that was opened further up is not closed");
    return;
  }
  std::string sentence = "this is not YAML: " + error.msg;
  for (const int line : {mark.line, mark.line - 1}) {
    if (line < 1 || !hasTabInIndentation(lineOf(text, line))) continue;
    sentence += "; line " + std::to_string(line) +
                " begins with a tab, and tabs cannot indent; write spaces";
    break;
  }
  faults.add(mark, sentence);
}

/// The text with an end-of-document mark. At a bare end of file yaml-cpp takes an open quote as
/// closed; at this mark it refuses.
std::string withEnd(std::string_view text) {
  std::string marked(text);
  if (!marked.empty() && marked.back() != '\n') marked += '\n';
  return marked + "...\n";
}

/// Drives yaml-cpp; its exceptions end here.
YamlPointer build(std::string_view text, YamlFaults& faults) {
  TreeBuilder builder(faults);
  try {
    std::istringstream stream(withEnd(text));
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    if (builder.root == nullptr || builder.root->kind == YamlNode::Kind::Null) {
      faults.addForFile("the file is empty");
      return nullptr;
    }
    YamlFaults ignored(faults.file());
    TreeBuilder second(ignored);
    if (parser.HandleNextDocument(second)) {
      const YamlMark mark = second.root == nullptr ? YamlMark{} : second.root->mark;
      faults.add(mark, "a second document begins here; write one document in a file");
      return nullptr;
    }
    return builder.root;
  } catch (const Abort& abort) {
    faults.add(abort.mark, abort.what());
  } catch (const YAML::Exception& error) {
    addParserFault(error, text, faults);
  }
  return nullptr;
}

}  // namespace

std::string YamlFaults::where(YamlMark mark) const {
  return file_ + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
}

void YamlFaults::add(YamlMark mark, std::string sentence) {
  if (found_.size() >= kMostFaults) {
    more_ = true;
    return;
  }
  found_.push_back({mark, {where(mark), std::move(sentence)}});
}

void YamlFaults::addForFile(std::string sentence) {
  found_.push_back({{0, 0}, {file_, std::move(sentence)}});
}

Faults YamlFaults::list() const {
  std::vector<Found> sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Found& left, const Found& right) {
    return std::pair(left.mark.line, left.mark.column) <
           std::pair(right.mark.line, right.mark.column);
  });
  Faults faults;
  for (Found& found : sorted) faults.push_back(std::move(found.fault));
  if (more_) faults.push_back({file_, "has more faults than the 100 above"});
  return faults;
}

YamlPointer parseYaml(std::string_view text, YamlFaults& faults) {
  if (text.size() > kMaxYamlBytes) {
    faults.addForFile("larger than 1 MiB; nothing of it was read");
    return nullptr;
  }
  std::string reason;
  const std::size_t bad = firstBadByte(text, reason);
  if (bad != std::string_view::npos) {
    faults.add(markAt(text, bad), reason);
    return nullptr;
  }
  return build(text, faults);
}

}  // namespace warder::base
