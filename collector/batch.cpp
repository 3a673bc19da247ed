#include "collector/batch.h"

#include "collector/sound_json.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/digest.h"

namespace warder::collector {

namespace {

base::Error malformed(std::uint64_t index, std::string_view what) {
  return {base::Kind::Config, "line " + std::to_string(index + 1) + " " + std::string(what)};
}

std::string textOf(const json::object& object, std::string_view name, std::size_t limit) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string() || value->get_string().size() > limit) return {};
  return std::string(value->get_string());
}

std::uint64_t numberOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return 0;
  if (value->is_uint64() && value->get_uint64() <= INT64_MAX) return value->get_uint64();
  if (value->is_int64() && value->get_int64() > 0)
    return static_cast<std::uint64_t>(value->get_int64());
  return 0;
}

base::Result<EventLine> parseLine(std::string_view text, std::uint64_t index,
                                  const AttemptKey& key) {
  if (text.empty()) return malformed(index, "is empty");
  if (text.size() > kMaxLine) return malformed(index, "is longer than 1 MiB");
  auto value = base::parseJson(text);
  if (!value) return malformed(index, value.error().doing);
  if (!value->is_object()) return malformed(index, "is not a JSON object");
  json::object& object = value->get_object();
  EventLine line;
  line.text = text;
  line.seq = numberOf(object, "seq");
  line.prev = textOf(object, "prev", 64);
  line.type = textOf(object, "type", 128);
  line.time = textOf(object, "time", 64);
  if (line.seq == 0) return malformed(index, "has no seq");
  if (!journal::isHexDigest(line.prev)) return malformed(index, "has no prev");
  if (line.type.empty() || line.time.empty()) return malformed(index, "has no type or no time");
  const std::string id =
      key.run + "/" + std::to_string(key.attempt) + "/" + std::to_string(line.seq);
  if (textOf(object, "id", 128) != id) return malformed(index, "belongs to another run");
  json::value* data = object.if_contains("data");
  if (data == nullptr || !data->is_object()) return malformed(index, "has no data");
  line.data = std::move(data->get_object());
  line.hash = journal::sha256Hex(text);
  return line;
}

}  // namespace

base::Result<std::vector<EventLine>> parseBatch(std::string_view body, const AttemptKey& key) {
  std::vector<EventLine> lines;
  while (!body.empty()) {
    const std::size_t end = body.find('\n');
    if (end == std::string_view::npos) return malformed(lines.size(), "has no end");
    auto line = parseLine(body.substr(0, end), lines.size(), key);
    if (!line) return line.error();
    if (!lines.empty()) {
      if (line->seq != lines.back().seq + 1)
        return malformed(lines.size(), "does not follow the number before it");
      if (line->prev != lines.back().hash)
        return base::Error{base::Kind::Denied, "seq " + std::to_string(line->seq) +
                                                   " does not name the line before it"};
    }
    lines.push_back(std::move(*line));
    body.remove_prefix(end + 1);
  }
  return lines;
}

std::optional<BlobReference> blobOf(const EventLine& line) {
  BlobReference blob;
  if (line.type == "artifact.stored") {
    blob.kind = "artifact";
    blob.name = textOf(line.data, "path", 4096);
  } else if (line.type == "patch.stored") {
    blob.kind = blob.name = "patch";
  } else if (line.type == "output.closed") {
    blob.kind = blob.name = textOf(line.data, "stream", 16);
  } else {
    return std::nullopt;
  }
  blob.digest = textOf(line.data, "sha256", 128);
  if (blob.digest.starts_with("sha256:")) blob.digest.erase(0, 7);
  blob.bytes = static_cast<std::uint64_t>(soundNumber(line.data.if_contains("bytes")));
  if (!journal::isHexDigest(blob.digest) || blob.kind.empty()) return std::nullopt;
  return blob;
}

}  // namespace warder::collector
