// The only writer of a journal: numbers, chains, signs and stores events.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"
#include "supervisor/journal/signing.h"

namespace warder::journal {

struct WriterOptions {
  std::string run_dir;
  std::string run_id;
  std::int64_t attempt = 1;
  std::size_t segment_bytes = 8 << 20;  // a new segment file is begun before this is passed
  std::size_t reserve_bytes = 1 << 20;  // disk space kept back for outcome-grade events
};

struct Appended {
  std::uint64_t seq = 0;
  bool on_disk = false;  // synced; otherwise sync() makes it so
};

/// On disk, with its seal, before anyone is told: by its durability or by its type.
bool isOutcomeGrade(const base::Event& event);

class Writer {
 public:
  /// Opens RUN_DIR/journal, creating it. An existing journal is continued: a torn tail is cut off
  /// and `journal.reopened` is appended, because the new key is not the one that run.started names.
  /// Errors: Denied when another process writes this journal, Kernel, Internal.
  static base::Result<Writer> open(WriterOptions options);

  /// Appends one event. Outcome-grade ones (by durability, or by type: run.started, agent.exited,
  /// run.finished) are on disk, with their seal, before this returns; the
  /// first event, and run.started, get `key`.
  /// Errors: Kernel (ENOSPC, EIO …): then the journal is as it was before; Internal when the line
  /// would be longer than kMaxPayload.
  base::Result<Appended> append(base::Event event);

  /// Makes everything that was appended durable. After an error here the journal takes no more:
  /// what the kernel could not write once it does not write the second time either.
  base::Status sync();

  /// Gives back the disk space that was kept for outcome-grade events, to whatever comes next.
  void giveUpReserve();

  std::size_t unsyncedBytes() const { return unsynced_; }
  std::uint64_t lastSeq() const { return seq_; }
  /// SHA-256 of the last line, hexadecimal: the `prev` of the next.
  const std::string& head() const { return head_; }

 private:
  explicit Writer(WriterOptions options, SigningKey key);
  base::Status openFolder();
  base::Status continueSegments();
  base::Status beginSegment(int number);
  base::Status keepReserve();
  struct Encoded {
    std::string frame;
    std::string digest;  // the 32 bytes of the line's SHA-256
  };
  base::Result<Encoded> encode(const base::Event& event, std::uint64_t seq,
                               const std::string& prev) const;
  base::Status store(const std::string& frames, bool may_use_reserve);
  base::Status storeOnce(const std::string& frames);

  WriterOptions options_;
  SigningKey key_;
  base::UniqueFd folder_;
  base::UniqueFd segment_fd_;
  int segment_ = 0;
  std::size_t segment_size_ = 0;
  std::size_t unsynced_ = 0;
  std::uint64_t seq_ = 0;
  std::string head_;
  std::optional<base::Error> broken_;
};

}  // namespace warder::journal
