#include "collector/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "collector/guarded.h"
#include "collector/sound_json.h"
#include "supervisor/base/event.h"
#include "supervisor/journal/clean_text.h"

namespace warder::collector {

namespace {

constexpr int kSchemaVersion = 2;
constexpr std::size_t kMaxCreated = 64;  // bytes of an identity's `created` that are compared

constexpr const char* kTables = R"sql(
CREATE TABLE attempts(
  run TEXT NOT NULL, attempt INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'finished', 'lost')),
  opened_ms INTEGER NOT NULL, seen_ms INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL,
  lost_ms INTEGER,
  acked_seq INTEGER NOT NULL, head TEXT NOT NULL,
  identity TEXT NOT NULL, key TEXT NOT NULL, summary TEXT NOT NULL,
  report TEXT, report_sha256 TEXT, receipt TEXT,
  PRIMARY KEY (run, attempt)) STRICT;
CREATE INDEX attempts_by_opening ON attempts(opened_ms, run);
CREATE INDEX attempts_by_lease ON attempts(lease_until_ms) WHERE state = 'running';
CREATE TABLE events(
  run TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL,
  type TEXT NOT NULL, line TEXT NOT NULL,
  PRIMARY KEY (run, attempt, seq),
  FOREIGN KEY (run, attempt) REFERENCES attempts(run, attempt)) STRICT, WITHOUT ROWID;
CREATE TABLE blob_references(
  run TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL,
  digest TEXT NOT NULL, bytes INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (run, attempt, seq),
  FOREIGN KEY (run, attempt) REFERENCES attempts(run, attempt)) STRICT, WITHOUT ROWID;
)sql";

base::Result<base::UniqueFd> lockFolder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return base::kernelError("cannot make the folder " + folder);
  auto lock = base::openFile(folder + "/lock", O_RDWR | O_CREAT, 0600);
  if (!lock) return lock.error();
  if (::flock(lock->get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK)
    return base::Error{base::Kind::Config, folder + " is in use by another collector"};
  return base::kernelError("cannot lock " + folder);
}

}  // namespace

std::string timeText(Moment moment) {
  if (moment <= 0) return {};
  const std::chrono::system_clock::time_point time{std::chrono::milliseconds(moment)};
  return base::timestamp(time).substr(0, 23) + "Z";
}

Store::Store(base::UniqueFd lock, BlobFolder blobs, const std::string& path,
             std::chrono::seconds lease)
    : lock_(std::move(lock)), blobs_(std::move(blobs)), database_(path), lease_(lease) {}

base::Result<std::unique_ptr<Store>> Store::open(const std::string& folder,
                                                 std::chrono::seconds lease, Moment now) {
  auto lock = lockFolder(folder);
  if (!lock) return lock.error();
  auto blobs = BlobFolder::open(folder);
  if (!blobs) return blobs.error();
  return guarded<std::unique_ptr<Store>>("opening the database", [&] {
    std::unique_ptr<Store> store(
        new Store(std::move(*lock), std::move(*blobs), folder + "/collector.db", lease));
    store->makeTables(now);
    return store;
  });
}

/// Version 1 kept summaries that cannot be read again (infinite sums, texts cut within a character,
/// deep outcomes) and outcomes that the journal does not have. The lines are the truth.
void Store::refoldSummaries() {
  std::vector<AttemptKey> keys;
  {
    Query query = database_.query("SELECT run, attempt FROM attempts");
    while (query.next())
      keys.push_back({query.text(0), static_cast<std::uint32_t>(query.number(1))});
  }
  for (const AttemptKey& key : keys) {
    const json::object summary = foldSummary(database_, key);
    const char* sql = summary.contains("finished_seq")
                          ? "UPDATE attempts SET summary = ? WHERE run = ? AND attempt = ?"
                          : "UPDATE attempts SET summary = ?, "
                            "state = CASE state WHEN 'finished' THEN 'running' ELSE state END "
                            "WHERE run = ? AND attempt = ?";
    database_.query(sql).with(json::serialize(summary)).with(key.run).with(key.attempt).run();
  }
}

void Store::makeTables(Moment now) {
  Transaction transaction(database_);
  std::int64_t version = 0;
  if (Query query = database_.query("PRAGMA user_version"); query.next()) version = query.number(0);
  if (version > kSchemaVersion)
    throw DatabaseError("the database was written by a newer collector", false);
  if (version == 0) database_.run(kTables);
  if (version == 1) refoldSummaries();
  database_.run("PRAGMA user_version = 2");
  database_
      .query("UPDATE attempts SET lease_until_ms = max(lease_until_ms, ?) WHERE state = 'running'")
      .with(now + std::chrono::milliseconds(lease_).count())
      .run();
  transaction.commit();
}

namespace {

std::string createdOf(std::string_view identity) {
  const auto value = readBack(identity);
  if (!value || !value->is_object()) return {};
  const json::value* created = value->get_object().if_contains("created");
  if (created == nullptr || !created->is_string()) return {};
  return std::string(journal::cutUtf8(created->get_string(), kMaxCreated));
}

/// Two boxes that bear one run id were made at different moments.
std::string conflictOf(Database& database, const AttemptKey& key, const Opening& opening) {
  Query row = database.query("SELECT identity FROM attempts WHERE run = ? AND attempt = ?");
  if (!row.with(key.run).with(key.attempt).next()) return {};
  const std::string ours = createdOf(row.text(0)), theirs = createdOf(opening.identity);
  if (ours == theirs) return {};
  return "another box has opened this run and attempt: it was created at \"" + ours +
         "\", this one at \"" + theirs + "\"";
}

}  // namespace

base::Result<OpenAnswer> Store::openAttempt(const AttemptKey& key, const Opening& opening,
                                            Moment now) {
  return guarded<OpenAnswer>("opening an attempt", [&] {
    OpenAnswer answer;
    Transaction transaction(database_);
    answer.conflict = conflictOf(database_, key, opening);
    if (!answer.conflict.empty()) return answer;
    database_
        .query(
            "INSERT INTO attempts VALUES (?, ?, 'running', ?, ?, 0, NULL, 0, ?, ?, ?, '{}', "
            "NULL, NULL, NULL) ON CONFLICT DO UPDATE SET "
            "key = CASE key WHEN '' THEN excluded.key ELSE key END")
        .with(key.run)
        .with(key.attempt)
        .with(now)
        .with(now)
        .with(kNoHead)
        .with(opening.identity)
        .with(opening.key)
        .run();
    renewLease(database_, key, {now, lease_});
    if (Query row = database_.query("SELECT acked_seq, head, receipt FROM attempts "
                                    "WHERE run = ? AND attempt = ?");
        row.with(key.run).with(key.attempt).next()) {
      answer.cursor = {static_cast<std::uint64_t>(row.number(0)), row.text(1)};
      answer.receipt = row.text(2);
    }
    transaction.commit();
    return answer;
  });
}

base::Status Store::touch(const AttemptKey& key, Moment now) {
  auto touched = guarded<bool>("renewing a lease", [&] {
    Transaction transaction(database_);
    const bool known = renewLease(database_, key, {now, lease_});
    transaction.commit();
    return known;
  });
  if (!touched) return touched.error();
  if (!*touched) return base::Error{base::Kind::NotFound, "the attempt was never opened"};
  return {};
}

base::Result<std::size_t> Store::markLost(Moment now) {
  return guarded<std::size_t>("looking for lost runs", [&] {
    std::size_t lost = 0;
    Transaction transaction(database_);
    Query query = database_.query(
        "UPDATE attempts SET state = 'lost', lost_ms = ? "
        "WHERE state = 'running' AND lease_until_ms < ? RETURNING run");
    query.with(now).with(now);
    while (query.next()) ++lost;
    transaction.commit();
    return lost;
  });
}

}  // namespace warder::collector
