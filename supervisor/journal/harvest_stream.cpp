#include "supervisor/journal/harvest_stream.h"

#include <boost/json.hpp>

#include "supervisor/base/utf8.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/clean_text.h"
#include "supervisor/journal/digest.h"

namespace warder::journal {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kFrameHead = 5;
constexpr std::size_t kMaxReason = 1024;

Error malformed(std::string why) {
  return Error{Kind::Peer, "the harvest stream " + why};
}

std::string frame(char kind, std::string_view payload) {
  std::string bytes(1, kind);
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(size >> shift));
  return bytes.append(payload);
}

json::object pathFields(const HarvestPath& path) {
  json::object head{{"path", path.text}};
  if (path.percent) head["path_encoding"] = "percent";
  return head;
}

json::object skippedFields(const HarvestSkipped& skipped) {
  json::object head = pathFields(skipped.path);
  head["reason"] = cutUtf8(validUtf8(skipped.reason), kMaxReason);
  return head;
}

std::string headOf(const HarvestFile& file) {
  json::object head = pathFields(file.path);
  head["size"] = file.size;
  head["mode"] = file.mode;
  head["mtime_ms"] = file.mtime_ms;
  return json::serialize(head);
}

std::string headOf(const HarvestEnd& end) {
  json::object head;
  if (!end.sha256.empty()) head["sha256"] = end.sha256;
  if (end.changed) head["changed"] = true;
  if (!end.note.empty()) head["note"] = cutUtf8(validUtf8(end.note), kMaxReason);
  if (end.left_out_count > 0) head["left_out_count"] = end.left_out_count;
  json::array left_out;
  for (const auto& path : end.left_out) left_out.push_back(skippedFields(path));
  if (!left_out.empty()) head["left_out"] = std::move(left_out);
  return json::serialize(head);
}

std::string headOf(const HarvestSkipped& skipped) {
  return json::serialize(skippedFields(skipped));
}

/// Relative, canonical, no way out, and valid text: what may name an artifact.
bool isSoundPath(std::string_view path) {
  if (path.empty() || path.size() > 3 * kMaxHarvestPath || validUtf8(path) != path) return false;
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  while (true) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// Reads the fields of a head; the first one that is wrong throws.
struct Head {
  explicit Head(std::string_view text) : object(parsed(text)) {}
  explicit Head(const json::value& value) : object(value.as_object()) {}
  static json::object parsed(std::string_view text) {
    auto value = base::parseJson(text);
    if (!value || !value->is_object())
      throw std::runtime_error("holds a head that is no JSON object");
    makeValidUtf8(*value);
    return std::move(value->as_object());
  }
  std::string text(const char* key) const {
    const auto* field = object.if_contains(key);
    if (field == nullptr) return {};
    if (!field->is_string()) throw std::runtime_error(std::string("holds a wrong ") + key);
    return std::string(cutUtf8(field->as_string(), 3 * kMaxHarvestPath));
  }
  template <class Number>
  Number number(const char* key) const {
    const auto* field = object.if_contains(key);
    boost::system::error_code failure;
    const auto value = field ? field->to_number<Number>(failure) : Number{};
    if (field == nullptr || failure) throw std::runtime_error(std::string("holds a wrong ") + key);
    return value;
  }
  bool flag(const char* key) const {
    const auto* field = object.if_contains(key);
    return field != nullptr && field->is_bool() && field->as_bool();
  }
  HarvestPath path(bool may_be_pattern) const {
    HarvestPath path{text("path"), text("path_encoding") == "percent"};
    if (!may_be_pattern && !isSoundPath(path.text))
      throw std::runtime_error("names a path that may not be one: " +
                               std::string(cutUtf8(path.text, 200)));
    return path;
  }
  std::vector<HarvestSkipped> leftOut() const {
    std::vector<HarvestSkipped> paths;
    const auto* field = object.if_contains("left_out");
    if (field == nullptr) return paths;
    for (const auto& item : field->as_array()) {
      const Head head(item);
      paths.push_back({head.path(false), head.text("reason")});
    }
    return paths;
  }
  json::object object;
};

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

HarvestPath encodePath(std::string_view bytes) {
  HarvestPath path{std::string(bytes), false};
  const auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  path.percent = validUtf8(bytes) != bytes || std::any_of(bytes.begin(), bytes.end(), isControl);
  if (!path.percent) return path;
  path.text.clear();
  while (!bytes.empty()) {
    const std::size_t length = base::utf8Length(bytes);
    if (length == 0 || isControl(bytes[0]) || bytes[0] == '%')
      path.text += "%" + toHex(bytes.substr(0, 1));
    else
      path.text += bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return path;
}

std::string encodeHarvest(const HarvestItem& item) {
  return std::visit(
      Overloaded{
          [](const HarvestFile& file) { return frame('F', headOf(file)); },
          [](const HarvestPatch&) { return frame('P', "{}"); },
          [](const HarvestData& data) { return frame('D', data.bytes); },
          [](const HarvestEnd& end) { return frame('E', headOf(end)); },
          [](const HarvestSkipped& skipped) { return frame('S', headOf(skipped)); },
          [](const HarvestNoPatch& none) {
            const auto reason = validUtf8(none.reason);
            return frame('N',
                         json::serialize(json::object{{"reason", cutUtf8(reason, kMaxReason)}}));
          },
          [](const HarvestDone&) { return frame('Z', "{}"); },
      },
      item);
}

Status HarvestParser::feed(std::string_view bytes, const Each& each) {
  buffer_ += bytes;
  std::size_t at = 0;
  Status status;
  while (status && buffer_.size() - at >= kFrameHead) {
    const char kind = buffer_[at];
    std::size_t length = 0;
    for (int i = 4; i >= 1; --i) length = length << 8 | static_cast<unsigned char>(buffer_[at + i]);
    if (length > (kind == 'D' ? kMaxHarvestData : kMaxHarvestHead))
      return malformed("holds a frame of " + std::to_string(length) + " bytes");
    if (buffer_.size() - at - kFrameHead < length) break;
    status = take(kind, std::string_view(buffer_).substr(at + kFrameHead, length), each);
    at += kFrameHead + length;
  }
  buffer_.erase(0, at);
  return status;
}

Status HarvestParser::take(char kind, std::string_view payload, const Each& each) {
  const bool inside = state_ == State::InFile || state_ == State::InPatch;
  const bool belongs_inside = kind == 'D' || kind == 'E';
  if (state_ == State::Done) return malformed("goes on after its end");
  if (inside != belongs_inside) return malformed("holds a frame out of order");
  auto item = decode(kind, payload);
  if (!item) return item.error();
  return each(*item);
}

Result<HarvestItem> HarvestParser::decode(char kind, std::string_view payload) try {
  if (kind == 'D') {
    if (state_ == State::InFile && payload.size() > left_)
      return malformed("holds more bytes than it announced");
    left_ -= state_ == State::InFile ? payload.size() : 0;
    return HarvestData{payload};
  }
  const Head head(payload);
  switch (kind) {
    case 'F': {
      HarvestFile file{head.path(false), head.number<std::uint64_t>("size"),
                       head.number<std::uint32_t>("mode"), head.number<std::int64_t>("mtime_ms")};
      state_ = State::InFile;
      left_ = file.size;
      return file;
    }
    case 'P':
      state_ = State::InPatch;
      return HarvestPatch{};
    case 'E': {
      HarvestEnd end{head.text("sha256"), head.flag("changed"), head.text("note"), 0,
                     head.leftOut()};
      if (head.object.contains("left_out_count"))
        end.left_out_count = head.number<std::uint64_t>("left_out_count");
      if (!end.sha256.empty() && !isHexDigest(end.sha256)) return malformed("holds a wrong sha256");
      state_ = State::Between;
      return end;
    }
    case 'S':
      return HarvestSkipped{head.path(true), head.text("reason")};
    case 'N':
      return HarvestNoPatch{head.text("reason")};
    case 'Z':
      state_ = State::Done;
      return HarvestDone{};
    default:
      return malformed("holds a frame of an unknown kind");
  }
} catch (const std::exception& error) {
  return malformed(error.what());
}

}  // namespace warder::journal
