#include "supervisor/journal/reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "supervisor/base/wire.h"
#include "supervisor/journal/frame.h"
#include "supervisor/journal/scribe_protocol.h"

namespace warder::journal {

using base::Error;
using base::Kind;
using base::Result;

namespace {

constexpr std::size_t kReadAtOnce = 1 << 20;
constexpr std::size_t kMaxIdentity = 1 << 20;

}  // namespace

Result<std::uint64_t> seqOf(std::string_view text) {
  auto value = base::parseJson(text);
  if (!value) return value.error();
  const auto* object = value->if_object();
  const auto* seq = object ? object->if_contains("seq") : nullptr;
  boost::system::error_code failure;
  const auto number = seq ? seq->to_number<std::uint64_t>(failure) : 0;
  if (seq == nullptr || failure) return Error{Kind::Config, "a journal line has no seq"};
  return number;
}

std::string segmentName(int number) {
  char name[16];
  std::snprintf(name, sizeof name, "%08d.wal", number);
  return name;
}

std::string segmentPath(const std::string& run_dir, int number) {
  return run_dir + "/" + kJournalFolder + "/" + segmentName(number);
}

JournalTail::JournalTail(std::string run_dir, std::uint64_t after)
    : run_dir_(std::move(run_dir)), after_(after) {}

/// Adds bytes to unread_; false when there are none at present.
Result<bool> JournalTail::readOn() {
  for (;;) {
    // Asked before reading: a next segment exists only once this one is complete.
    const bool complete =
        segment_ == 0 || ::access(segmentPath(run_dir_, segment_ + 1).c_str(), F_OK) == 0;
    if (fd_) {
      const std::size_t old = unread_.size();
      unread_.resize(old + kReadAtOnce);
      ssize_t count;
      do {
        count = ::read(fd_.get(), unread_.data() + old, kReadAtOnce);
      } while (count < 0 && errno == EINTR);
      const int code = errno;
      unread_.resize(old + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (count < 0)
        return base::kernelError("cannot read " + segmentPath(run_dir_, segment_), code);
      if (count > 0) return true;
    }
    if (!complete) return false;
    auto next =
        base::openFile(segmentPath(run_dir_, segment_ + 1), O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    if (!next && next.error().kind == Kind::NotFound) return false;
    if (!next) return next.error();
    damaged_ += unread_.size();  // the tail of a segment that was followed by another
    unread_.clear();
    fd_ = std::move(*next);
    ++segment_;
  }
}

base::Status JournalTail::takeFrames(std::vector<Line>& lines) {
  const Scan scan = scanFrames(unread_);
  for (const auto& damage : scan.damage) damaged_ += damage.length;
  if (!scan.frames.empty() && ::fdatasync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    return base::kernelError("cannot sync " + segmentPath(run_dir_, segment_));
  for (const auto& frame : scan.frames) {
    auto seq = seqOf(frame.payload);
    if (!seq) {
      damaged_ += kFrameHeader + frame.payload.size();
      continue;
    }
    if (*seq > after_) lines.push_back({*seq, std::string(frame.payload)});
  }
  unread_.erase(0, scan.sound_end);
  return {};
}

Result<std::vector<Line>> JournalTail::more() {
  std::vector<Line> lines;
  while (lines.empty()) {
    auto read = readOn();
    if (!read) return read.error();
    if (!*read) break;
    if (auto taken = takeFrames(lines); !taken) return taken.error();
  }
  return lines;
}

Result<std::vector<Line>> readJournal(const std::string& run_dir) {
  JournalTail tail(run_dir);
  std::vector<Line> all;
  for (;;) {
    auto lines = tail.more();
    if (!lines) return lines.error();
    if (lines->empty()) return all;
    all.insert(all.end(), std::make_move_iterator(lines->begin()),
               std::make_move_iterator(lines->end()));
  }
}

Result<base::Event> eventOf(const Line& line) {
  auto value = base::parseJson(line.text);
  const auto* object = value ? value->if_object() : nullptr;
  const auto* type = object ? object->if_contains("type") : nullptr;
  const auto* time = object ? object->if_contains("time") : nullptr;
  const auto* data = object ? object->if_contains("data") : nullptr;
  if (!type || !type->is_string() || !time || !time->is_string() || !data || !data->is_object())
    return Error{Kind::Config, "journal line " + std::to_string(line.seq) + " is no event"};
  base::Event event;
  event.type = std::string(type->as_string());
  event.data = data->as_object();
  event.time = base::parseTimestamp(time->as_string());
  return event;
}

Result<json::object> readIdentity(const std::string& run_dir) {
  const std::string path = run_dir + "/" + kIdentityFile;
  auto text = base::readFile(path, kMaxIdentity);
  if (!text) return text.error();
  auto value = base::parseJson(*text);
  if (!value) return value.error().during(path);
  if (!value->is_object()) return Error{Kind::Config, path + " is no JSON object"};
  return std::move(value->as_object());
}

}  // namespace warder::journal
