#include "supervisor/journal/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/journal/clean_text.h"
#include "supervisor/journal/digest.h"
#include "supervisor/journal/frame.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/scribe_protocol.h"

namespace warder::journal {

using base::Durability;
using base::Error;
using base::Event;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr const char* kReserveName = "reserve";
constexpr std::size_t kLargestSegment = 64 << 20;

bool endsAChapter(const std::string& type) {
  return type == "run.started" || type == "agent.exited" || type == "run.finished" ||
         type == "journal.reopened";
}

json::object lineOf(const Event& event, const WriterOptions& run, std::uint64_t seq,
                    const std::string& prev) {
  return {{"specversion", "1.0"},
          {"id", run.run_id + "/" + std::to_string(run.attempt) + "/" + std::to_string(seq)},
          {"source", "warder/" + run.run_id},
          {"type", event.type},
          {"time", base::timestamp(event.time)},
          {"seq", seq},
          {"prev", prev},
          {"data", event.data}};
}

}  // namespace

bool isOutcomeGrade(const Event& event) {
  return event.durability == Durability::Outcome || endsAChapter(event.type);
}

Writer::Writer(WriterOptions options, SigningKey key)
    : options_(std::move(options)), key_(std::move(key)), head_(64, '0') {}

Result<Writer> Writer::open(WriterOptions options) {
  auto key = SigningKey::generate();
  if (!key) return key.error();
  Writer writer(std::move(options), std::move(*key));
  if (auto opened = writer.openFolder(); !opened) return opened.error();
  if (auto continued = writer.continueSegments(); !continued) return continued.error();
  if (auto kept = writer.keepReserve(); !kept) return kept.error();
  if (writer.seq_ > 0) {
    Event reopened{
        "journal.reopened", {{"after", writer.seq_}, {"head", writer.head_}}, Durability::Outcome};
    if (auto appended = writer.append(std::move(reopened)); !appended) return appended.error();
  }
  return writer;
}

Status Writer::openFolder() {
  const std::string path = options_.run_dir + "/" + kJournalFolder;
  if (::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST)
    return kernelError("cannot make the folder " + path);
  auto folder = base::openFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!folder) return folder.error();
  folder_ = std::move(*folder);
  // One writer: the lock goes with the process, however it ends.
  if (::flock(folder_.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Kind::Denied, "the journal in " + path + " is being written by another process"};
  return {};
}

/// Finds the end of what an earlier process wrote, and cuts off the write that was torn.
Status Writer::continueSegments() {
  for (int number = 1;; ++number) {
    auto fd = base::openAt(folder_.get(), segmentName(number), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
    if (!fd && fd.error().kind == Kind::NotFound) break;
    if (!fd) return fd.error();
    auto bytes = base::readAll(fd->get(), kLargestSegment);
    if (!bytes) return bytes.error().during("reading the journal");
    const Scan scan = scanFrames(*bytes);
    if (!scan.frames.empty()) {
      const std::string_view last = scan.frames.back().payload;
      auto seq = seqOf(last);
      if (!seq) return seq.error();
      seq_ = *seq;
      head_ = sha256Hex(last);
    }
    segment_ = number;
    segment_size_ = scan.sound_end;
    segment_fd_ = std::move(*fd);
  }
  if (segment_ == 0) return beginSegment(1);
  if (::ftruncate(segment_fd_.get(), static_cast<off_t>(segment_size_)) != 0 ||
      ::lseek(segment_fd_.get(), static_cast<off_t>(segment_size_), SEEK_SET) < 0)
    return kernelError("cannot cut the torn end of the journal");
  return {};
}

Status Writer::beginSegment(int number) {
  if (segment_fd_)
    if (auto synced = sync(); !synced) return synced;
  const std::string name = segmentName(number);
  auto fd = base::openAt(folder_.get(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0640);
  if (!fd) return fd.error();
  if (::fsync(folder_.get()) != 0) return kernelError("cannot sync the journal's folder");
  segment_fd_ = std::move(*fd);
  segment_ = number;
  segment_size_ = 0;
  return {};
}

/// Space that is given back when the disk is full, so that the outcome can still be written.
/// Where the file system cannot promise space, nothing is kept.
Status Writer::keepReserve() {
  if (options_.reserve_bytes == 0) return {};
  auto fd =
      base::openAt(folder_.get(), kReserveName, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0640);
  if (!fd) return fd.error();
  const int code = ::posix_fallocate(fd->get(), 0, static_cast<off_t>(options_.reserve_bytes));
  if (code == ENOSPC || code == EFBIG || code == EDQUOT)
    return kernelError("no room for the journal in " + options_.run_dir, code);
  return {};
}

Result<Writer::Encoded> Writer::encode(const Event& event, std::uint64_t seq,
                                       const std::string& prev) const {
  const std::string line = json::serialize(lineOf(event, options_, seq, prev));
  auto frame = encodeFrame(line);
  if (!frame) return frame.error().during("event " + event.type);
  return Encoded{std::move(*frame), sha256Raw(line)};
}

Result<Appended> Writer::append(Event event) {
  if (broken_) return *broken_;
  makeValidUtf8(event.data);
  const bool grave = isOutcomeGrade(event);
  if (seq_ == 0 || event.type == "run.started" || event.type == "journal.reopened")
    event.data["key"] = key_.publicKey();
  const std::uint64_t seq = seq_ + 1;
  auto line = encode(event, seq, head_);
  if (!line) return line.error();
  if (!grave) {
    if (auto stored = store(line->frame, false); !stored) return stored.error();
    seq_ = seq;
    head_ = toHex(line->digest);
    return Appended{seq, false};
  }
  // Nothing in a seal is free: it follows from the line before it and the key.
  auto signature = key_.sign(line->digest);
  if (!signature) return signature.error();
  const std::string hash = toHex(line->digest);
  const Event seal{"journal.seal",
                   {{"of", seq}, {"hash", "sha256:" + hash}, {"signature", *signature}},
                   Durability::Outcome,
                   event.time};
  auto sealed = encode(seal, seq + 1, hash);
  if (!sealed) return sealed.error();
  if (auto stored = store(line->frame + sealed->frame, true); !stored) return stored.error();
  seq_ = seq + 1;
  head_ = toHex(sealed->digest);
  if (auto synced = sync(); !synced) return synced.error();
  if (event.type == "run.finished") giveUpReserve();
  return Appended{seq, true};
}

void Writer::giveUpReserve() {
  ::unlinkat(folder_.get(), kReserveName, 0);
}

Status Writer::store(const std::string& frames, bool may_use_reserve) {
  auto stored = storeOnce(frames);
  if (stored || !may_use_reserve) return stored;
  const int code = stored.error().system_errno;
  if ((code != ENOSPC && code != EDQUOT) || ::unlinkat(folder_.get(), kReserveName, 0) != 0)
    return stored;
  return storeOnce(frames);
}

Status Writer::storeOnce(const std::string& frames) {
  if (segment_size_ > 0 && segment_size_ + frames.size() > options_.segment_bytes)
    if (auto begun = beginSegment(segment_ + 1); !begun) return begun;
  if (auto written = base::writeAll(segment_fd_.get(), frames); !written) {
    // Half a frame must not stay in front of later ones.
    if (::ftruncate(segment_fd_.get(), static_cast<off_t>(segment_size_)) != 0 ||
        ::lseek(segment_fd_.get(), static_cast<off_t>(segment_size_), SEEK_SET) < 0)
      broken_ = written.error();
    return written.error().during("writing the journal");
  }
  segment_size_ += frames.size();
  unsynced_ += frames.size();
  return {};
}

Status Writer::sync() {
  if (broken_) return *broken_;
  if (unsynced_ == 0) return {};
  unsynced_ = 0;
  if (::fdatasync(segment_fd_.get()) == 0) return {};
  broken_ = kernelError("cannot sync the journal");
  return *broken_;
}

}  // namespace warder::journal
