// What the collector knows: attempts of runs, their events, their reports. SQLite on a local disk
// plus a folder of blobs. One thread. What a function reports as stored is on disk.
#pragma once
#include <chrono>

#include "collector/batch.h"
#include "collector/blob_folder.h"
#include "collector/database.h"

namespace warder::collector {

struct Cursor {
  std::uint64_t acked_seq = 0;
  std::string head;  // hash of the line acked_seq; zeros when there is none
};

struct OpenAnswer {
  Cursor cursor;
  std::string receipt;   // JSON; empty while the attempt is not complete
  std::string conflict;  // why this is another box's attempt; empty when it is not
};

struct AppendAnswer {
  enum class What { Stored, Gap, Fork, Closed } what = What::Stored;
  Cursor cursor;
  std::string sentence;  // why not, for Fork and Closed
};

struct ReportAnswer {
  enum class What { Complete, Missing, Fork, Refused } what = What::Complete;
  std::string sentence;            // why not, for Refused
  std::string receipt;             // JSON, for Complete
  std::uint64_t events_from = 0;   // 0: no event is missing
  std::vector<std::string> blobs;  // digests that are missing
};

/// What a box says when it comes.
struct Opening {
  std::string identity;  // JSON of run.json
  std::string key;       // public key of the boot, base64; may be empty
};

/// Milliseconds since 1970.
using Moment = std::int64_t;

class Store {
 public:
  /// Opens or creates `folder`; refuses one that another collector has open. Attempts that were
  /// running get a whole lease from `now`, since it was the collector that was away.
  static base::Result<std::unique_ptr<Store>> open(const std::string& folder,
                                                   std::chrono::seconds lease, Moment now);

  /// Changes nothing when another box opened the attempt: its identity has another `created`.
  base::Result<OpenAnswer> openAttempt(const AttemptKey& key, const Opening& opening, Moment now);
  /// Appends what lies beyond the cursor; what lies below must be identical. Renews the lease.
  /// Errors: NotFound when the attempt was never opened.
  base::Result<AppendAnswer> append(const AttemptKey& key, const std::vector<EventLine>& lines,
                                    Moment now);
  /// Keeps the report once the journal here has its end and does not speak against it, and closes
  /// the attempt once everything it needs is here. Idempotent.
  base::Result<ReportAnswer> putReport(const AttemptKey& key, std::string_view text, Moment now);
  /// Renews the lease of an attempt. Errors: NotFound.
  base::Status touch(const AttemptKey& key, Moment now);
  /// Marks attempts whose lease ran out as lost; returns how many.
  base::Result<std::size_t> markLost(Moment now);

  /// Newest runs first, at most 100: {"runs":[...],"next":RUN}. `before` continues a list.
  base::Result<json::object> listRuns(const std::string& before);
  /// One run with its newest attempt in full. Errors: NotFound.
  base::Result<json::object> describeRun(const std::string& run);
  /// Journal lines after a number as NDJSON, at most about 1 MiB. Errors: NotFound.
  base::Result<std::string> events(const AttemptKey& key, std::uint64_t after);
  /// The name under which an attempt refers to a blob. Errors: NotFound when it does not.
  base::Result<std::string> blobName(const AttemptKey& key, const std::string& digest);

  BlobFolder& blobs() { return blobs_; }
  std::chrono::seconds lease() const { return lease_; }

 private:
  Store(base::UniqueFd lock, BlobFolder blobs, const std::string& path, std::chrono::seconds lease);
  void makeTables(Moment now);
  void refoldSummaries();
  void insertLines(const AttemptKey& key, const std::vector<EventLine>& lines, std::uint64_t acked);
  std::string differenceBelow(const AttemptKey& key, const std::vector<EventLine>& lines,
                              std::uint64_t acked);
  ReportAnswer missingFor(const AttemptKey& key);
  std::string closeAttempt(const AttemptKey& key, const std::string& digest, Moment now);
  void keepReport(const AttemptKey& key, std::string_view text, const std::string& digest);
  json::array artifactsOf(const AttemptKey& key);

  base::UniqueFd lock_;
  BlobFolder blobs_;
  Database database_;
  std::chrono::seconds lease_;
};

/// RFC 3339 in UTC with milliseconds; empty for 0.
std::string timeText(Moment moment);

}  // namespace warder::collector
