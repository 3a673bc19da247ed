// What boxes bring: events and the report.
#include <algorithm>
#include <set>

#include "collector/guarded.h"
#include "collector/report_rules.h"
#include "collector/sound_json.h"
#include "collector/store.h"
#include "collector/summary.h"
#include "supervisor/base/wire.h"

namespace warder::collector {

namespace {

struct Row {
  Cursor cursor;
  json::object summary;
  std::string report_digest;
  std::string receipt;
};

std::optional<Row> readRow(Database& database, const AttemptKey& key) {
  Query query = database.query(
      "SELECT acked_seq, head, summary, report_sha256, receipt FROM attempts "
      "WHERE run = ? AND attempt = ?");
  if (!query.with(key.run).with(key.attempt).next()) return std::nullopt;
  Row row;
  row.cursor = {static_cast<std::uint64_t>(query.number(0)), query.text(1)};
  auto summary = readBack(query.text(2));
  row.summary = summary && summary->is_object() ? std::move(summary->get_object())
                                                : foldSummary(database, key);
  row.report_digest = query.text(3);
  row.receipt = query.text(4);
  return row;
}

base::Error neverOpened() {
  return {base::Kind::NotFound, "the attempt was never opened"};
}

}  // namespace

json::object foldSummary(Database& database, const AttemptKey& key) {
  json::object summary;
  Query query =
      database.query("SELECT line FROM events WHERE run = ? AND attempt = ? ORDER BY seq");
  query.with(key.run).with(key.attempt);
  while (query.next()) {
    const std::string body = query.text(0) + "\n";
    const auto lines = parseBatch(body, key);
    if (lines && !lines->empty()) addToSummary(summary, lines->front());
  }
  return summary;
}

bool renewLease(Database& database, const AttemptKey& key, const Renewal& renewal) {
  Query query = database.query(
      "UPDATE attempts SET seen_ms = ?, lease_until_ms = ?, lost_ms = NULL, "
      "state = CASE state WHEN 'lost' THEN 'running' ELSE state END "
      "WHERE run = ? AND attempt = ? RETURNING 1");
  const Moment until = renewal.now + std::chrono::milliseconds(renewal.lease).count();
  query.with(renewal.now).with(until).with(key.run).with(key.attempt);
  bool known = false;
  while (query.next()) known = true;
  return known;
}

void Store::insertLines(const AttemptKey& key, const std::vector<EventLine>& lines,
                        std::uint64_t acked) {
  for (const EventLine& line : lines) {
    if (line.seq <= acked) continue;
    const auto seq = static_cast<std::int64_t>(line.seq);
    database_.query("INSERT INTO events VALUES (?, ?, ?, ?, ?)")
        .with(key.run)
        .with(key.attempt)
        .with(seq)
        .with(line.type)
        .with(line.text)
        .run();
    if (const auto blob = blobOf(line))
      database_.query("INSERT INTO blob_references VALUES (?, ?, ?, ?, ?, ?, ?)")
          .with(key.run)
          .with(key.attempt)
          .with(seq)
          .with(blob->digest)
          .with(static_cast<std::int64_t>(blob->bytes))
          .with(blob->kind)
          .with(blob->name)
          .run();
  }
}

/// A sentence when a line at or below the cursor is not the one that was stored.
std::string Store::differenceBelow(const AttemptKey& key, const std::vector<EventLine>& lines,
                                   std::uint64_t acked) {
  for (const EventLine& line : lines) {
    if (line.seq > acked) break;
    Query query =
        database_.query("SELECT line FROM events WHERE run = ? AND attempt = ? AND seq = ?");
    query.with(key.run).with(key.attempt).with(static_cast<std::int64_t>(line.seq));
    if (!query.next() || query.text(0) != line.text)
      return "seq " + std::to_string(line.seq) + " was received before with other bytes";
  }
  return {};
}

base::Result<AppendAnswer> Store::append(const AttemptKey& key, const std::vector<EventLine>& lines,
                                         Moment now) {
  return guarded<AppendAnswer>("storing events", [&]() -> base::Result<AppendAnswer> {
    using What = AppendAnswer::What;
    Transaction transaction(database_);
    auto row = readRow(database_, key);
    if (!row) return neverOpened();
    AppendAnswer answer{What::Stored, row->cursor, {}};
    const std::uint64_t acked = row->cursor.acked_seq;
    answer.sentence = differenceBelow(key, lines, acked);
    if (!answer.sentence.empty()) answer.what = What::Fork;
    if (!lines.empty() && lines.front().seq > acked + 1) answer.what = What::Gap;
    const auto fresh = std::find_if(lines.begin(), lines.end(),
                                    [&](const auto& line) { return line.seq > acked; });
    if (answer.what == What::Stored && fresh != lines.end()) {
      if (!row->receipt.empty()) {
        answer = {What::Closed, row->cursor, "the run is closed: its report is here"};
      } else if (fresh->prev != row->cursor.head) {
        answer = {What::Fork, row->cursor,
                  "seq " + std::to_string(fresh->seq) + " does not continue the chain"};
      }
    }
    if (answer.what != What::Stored) return answer;
    insertLines(key, lines, acked);
    for (auto line = fresh; line != lines.end(); ++line) addToSummary(row->summary, *line);
    if (fresh != lines.end()) answer.cursor = {lines.back().seq, lines.back().hash};
    database_
        .query(
            "UPDATE attempts SET acked_seq = ?, head = ?, summary = ? "
            "WHERE run = ? AND attempt = ?")
        .with(static_cast<std::int64_t>(answer.cursor.acked_seq))
        .with(answer.cursor.head)
        .with(json::serialize(row->summary))
        .with(key.run)
        .with(key.attempt)
        .run();
    renewLease(database_, key, {now, lease_});
    transaction.commit();
    return answer;
  });
}

/// What the attempt lacks to be complete with a report that nothing speaks against.
ReportAnswer Store::missingFor(const AttemptKey& key) {
  ReportAnswer answer;
  const auto row = readRow(database_, key);
  if (!row->summary.contains("finished_seq")) answer.events_from = row->cursor.acked_seq + 1;
  std::set<std::string> digests;
  Query query =
      database_.query("SELECT DISTINCT digest FROM blob_references WHERE run = ? AND attempt = ?");
  query.with(key.run).with(key.attempt);
  while (query.next()) digests.insert(query.text(0));
  for (const auto& digest : digests)
    if (!blobs_.has(digest)) answer.blobs.push_back(digest);
  if (answer.events_from != 0 || !answer.blobs.empty()) answer.what = ReportAnswer::What::Missing;
  return answer;
}

std::string Store::closeAttempt(const AttemptKey& key, const std::string& digest, Moment now) {
  const auto row = readRow(database_, key);
  const json::object receipt{
      {"run", key.run},           {"attempt", key.attempt},       {"report_sha256", digest},
      {"head", row->cursor.head}, {"seq", row->cursor.acked_seq}, {"time", timeText(now)}};
  const std::string text = json::serialize(receipt);
  database_.query("UPDATE attempts SET receipt = ? WHERE run = ? AND attempt = ?")
      .with(text)
      .with(key.run)
      .with(key.attempt)
      .run();
  return text;
}

void Store::keepReport(const AttemptKey& key, std::string_view text, const std::string& digest) {
  database_
      .query(
          "UPDATE attempts SET state = 'finished', report = ?, report_sha256 = ? "
          "WHERE run = ? AND attempt = ?")
      .with(text)
      .with(digest)
      .with(key.run)
      .with(key.attempt)
      .run();
}

base::Result<ReportAnswer> Store::putReport(const AttemptKey& key, std::string_view text,
                                            Moment now) {
  using What = ReportAnswer::What;
  const auto parsed = base::parseJson(text);
  if (!parsed) return parsed.error().during("the report");
  const std::string digest = "sha256:" + journal::sha256Hex(text);
  return guarded<ReportAnswer>("storing a report", [&]() -> base::Result<ReportAnswer> {
    Transaction transaction(database_);
    const auto row = readRow(database_, key);
    if (!row) return neverOpened();
    ReportAnswer answer;
    if (!row->receipt.empty()) {
      answer.receipt = row->receipt;
      if (row->report_digest != digest) answer.what = What::Fork;
      return answer;
    }
    const json::object report = parsed->is_object() ? parsed->get_object() : json::object();
    answer.sentence = faultOfReport(report);
    if (answer.sentence.empty())
      answer.sentence = contradictionOf(row->summary, row->cursor.acked_seq, report);
    if (!answer.sentence.empty()) {
      answer.what = What::Refused;
      return answer;
    }
    renewLease(database_, key, {now, lease_});
    answer = missingFor(key);
    if (answer.events_from == 0) keepReport(key, text, digest);
    if (answer.what == What::Complete) answer.receipt = closeAttempt(key, digest, now);
    transaction.commit();
    return answer;
  });
}

}  // namespace warder::collector
