#include "supervisor/journal/harvest_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "supervisor/journal/scribe_protocol.h"

namespace warder::journal {

namespace json = boost::json;
using base::Event;
using base::kernelError;
using base::Status;

namespace {

constexpr const char* kTooLarge = "would exceed results.max_size";
constexpr std::uint64_t kSmallestPatchCap = 1 << 20;

json::object named(const HarvestPath& path) {
  json::object data{{"path", path.text}};
  if (path.percent) data["path_encoding"] = "percent";
  return data;
}

void addLeftOut(json::object& data, const HarvestEnd& end) {
  if (end.left_out_count == 0) return;
  json::array paths;
  for (const auto& path : end.left_out) {
    json::object item = named(path.path);
    item["reason"] = path.reason;
    paths.push_back(std::move(item));
  }
  data["left_out_count"] = end.left_out_count;
  data["left_out"] = std::move(paths);
}

}  // namespace

HarvestStore::HarvestStore(std::string run_dir, Limits limits, base::Emit emit)
    : folder_(std::move(run_dir) + "/" + kBlobFolder), limits_(limits), emit_(std::move(emit)) {}

std::string HarvestStore::part() const {
  return folder_ + "/.part";
}

Status HarvestStore::take(std::string_view bytes) {
  if (ignoring_) return {};
  auto fed = parser_.feed(bytes, [this](const HarvestItem& item) { return takeItem(item); });
  if (fed || fed.error().kind != base::Kind::Peer) return fed;
  ignoring_ = true;
  if (open_)
    skip(*open_, fed.error().doing);
  else
    skipPath({}, fed.error().doing);
  open_.reset();
  return {};
}

Status HarvestStore::takeItem(const HarvestItem& item) {
  if (const auto* data = std::get_if<HarvestData>(&item)) return addBytes(data->bytes);
  if (const auto* ended = std::get_if<HarvestEnd>(&item)) return end(*ended);
  if (const auto* file = std::get_if<HarvestFile>(&item)) {
    Open open;
    open.file = *file;
    return begin(std::move(open));
  }
  if (std::holds_alternative<HarvestPatch>(item)) {
    Open open;
    open.patch = true;
    return begin(std::move(open));
  }
  if (const auto* skipped = std::get_if<HarvestSkipped>(&item))
    skipPath(skipped->path, skipped->reason);
  if (const auto* none = std::get_if<HarvestNoPatch>(&item)) {
    Open open;
    open.patch = true;
    skip(open, none->reason);
  }
  return {};
}

Status HarvestStore::begin(Open open) {
  const auto drop = [&open](const char* reason) {
    open.dropped = true;
    open.reason = reason;
  };
  if (open.patch && patch_told_) drop("a second patch was sent");
  if (!open.patch && open.file.size > limits_.max_size - used_) drop(kTooLarge);
  if (!open.patch && told_ >= limits_.max_artifacts) drop("too many artifacts");
  if (!open.dropped) {
    auto blob = base::openFile(part(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0640);
    if (!blob) return blob.error();
    open.blob = std::move(*blob);
  }
  open_ = std::move(open);
  return {};
}

Status HarvestStore::addBytes(std::string_view bytes) {
  Open& open = *open_;
  open.bytes += bytes.size();
  if (open.patch && open.bytes > std::max(limits_.max_size, kSmallestPatchCap) && !open.dropped) {
    open.dropped = true;
    open.reason = kTooLarge;
  }
  if (open.dropped) return {};
  open.digest.update(bytes);
  auto written = base::writeAll(open.blob.get(), bytes);
  if (!written) return written.error().during("storing an artifact");
  return {};
}

Status HarvestStore::end(const HarvestEnd& end) {
  Open open = std::move(*open_);
  open_.reset();
  if (!open.dropped && !open.patch && open.bytes < open.file.size && !end.changed) {
    open.dropped = true;
    open.reason = "fewer bytes came than were announced";
  }
  if (open.patch && end.changed && !open.dropped) {
    open.dropped = true;
    open.reason = end.note.empty() ? "the patch is not complete" : end.note;
  }
  if (open.dropped) {
    skip(open, open.reason);
    return {};
  }
  if (::fdatasync(open.blob.get()) != 0) return kernelError("cannot sync an artifact");
  const std::string hex = open.digest.hex();
  if (!end.sha256.empty() && end.sha256 != hex) {
    skip(open, "the bytes that came do not have the digest that was announced");
    return {};
  }
  if (::rename(part().c_str(), (folder_ + "/" + hex).c_str()) != 0)
    return kernelError("cannot name an artifact");
  json::object data = open.patch ? json::object{} : named(open.file.path);
  data["bytes"] = open.bytes;
  data["sha256"] = "sha256:" + hex;
  if (end.changed) data["changed"] = true;
  if (!end.note.empty()) data["note"] = end.note;
  if (open.patch) {
    patch_told_ = true;
    addLeftOut(data, end);
  } else {
    char mode[8];
    std::snprintf(mode, sizeof mode, "0%03o", open.file.mode & 0777u);
    data["mode"] = mode;
    data["mtime_ms"] = open.file.mtime_ms;
    used_ += open.bytes;
    ++told_;
  }
  emit_(Event{open.patch ? "patch.stored" : "artifact.stored", std::move(data)});
  return {};
}

void HarvestStore::skip(const Open& open, std::string_view reason) {
  if (!open.patch) return skipPath(open.file.path, reason);
  if (!std::exchange(patch_told_, true)) emit_(Event{"patch.skipped", {{"reason", reason}}});
}

void HarvestStore::skipPath(const HarvestPath& path, std::string_view reason) {
  if (told_ > limits_.max_artifacts) return;
  if (told_++ == limits_.max_artifacts) {
    emit_(Event{"artifact.skipped",
                {{"path", ""},
                 {"reason", "more than " + std::to_string(limits_.max_artifacts) +
                                " artifacts; the rest was left out"}}});
    return;
  }
  json::object data = named(path);
  data["reason"] = reason;
  emit_(Event{"artifact.skipped", std::move(data)});
}

Status HarvestStore::finish() {
  constexpr const char* kCut = "the harvest ended before it was complete";
  if (open_)
    skip(*open_, kCut);
  else if (!ignoring_ && !parser_.complete())
    skipPath({}, kCut);
  open_.reset();
  (void)::unlink(part().c_str());
  auto folder = base::openFile(folder_, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  if (::fsync(folder->get()) != 0) return kernelError("cannot sync the folder of artifacts");
  return {};
}

}  // namespace warder::journal
