// What people and the page ask: lists, one run, its events.
#include "collector/guarded.h"
#include "collector/report_rules.h"
#include "collector/sound_json.h"
#include "collector/store.h"

namespace warder::collector {

namespace {

constexpr int kRunsAtOnce = 100;
constexpr std::size_t kEventBytesAtOnce = 1 << 20;

/// One row; a row that cannot be read says so in `fault` and hides no other.
// run, attempt, state, opened_ms, seen_ms, lost_ms, summary, receipt: in this order everywhere.
json::object listItem(const Query& row) {
  json::object item{{"run_id", row.text(0)},
                    {"attempt", row.number(1)},
                    {"state", row.text(2)},
                    {"opened", timeText(row.number(3))},
                    {"seen", timeText(row.number(4))},
                    {"complete", !row.isNull(7)}};
  if (!row.isNull(5)) item["lost"] = timeText(row.number(5));
  auto summary = readBack(row.text(6));
  if (summary && summary->is_object()) {
    clampNumbers(summary->get_object());
    item["summary"] = std::move(*summary);
  } else {
    item["summary"] = json::object();
    item["fault"] = "what is kept as the summary of this run cannot be read";
  }
  return item;
}

json::value parsedOrNull(const std::string& text) {
  auto value = readBack(text);
  return value ? std::move(*value) : json::value(nullptr);
}

/// Why a kept report is not believed: an earlier version took any, and the journal may have gone
/// on.
std::string reportFault(const json::object& summary, std::int64_t acked,
                        const json::object& report) {
  if (!summary.contains("finished_seq")) return "the journal that is here has no end yet";
  std::string fault = faultOfReport(report);
  if (!fault.empty()) return fault;
  return contradictionOf(summary, static_cast<std::uint64_t>(acked), report);
}

std::string lostSentence(const json::object& item) {
  const auto& seen = item.at("seen").as_string();
  return "Started, never ended: the box was last heard of at " + std::string(seen) +
         " and its lease ran out. What it sent until then is here; warder deliver sends the rest "
         "from its spool.";
}

}  // namespace

base::Result<json::object> Store::listRuns(const std::string& before) {
  return guarded<json::object>("listing the runs", [&] {
    Query query = database_.query(
        "SELECT a.run, a.attempt, a.state, a.opened_ms, a.seen_ms, a.lost_ms, a.summary, a.receipt "
        "FROM attempts a "
        "WHERE a.attempt = (SELECT max(attempt) FROM attempts b WHERE b.run = a.run) "
        "AND (?1 = '' OR (a.opened_ms, a.run) < "
        "((SELECT c.opened_ms FROM attempts c WHERE c.run = ?1 ORDER BY attempt DESC LIMIT 1), ?1))"
        " ORDER BY a.opened_ms DESC, a.run DESC LIMIT 101");
    query.with(before);
    json::array runs;
    json::object answer;
    while (query.next()) {
      if (runs.size() == kRunsAtOnce) {
        answer["next"] = runs.back().at("run_id");
        break;
      }
      runs.push_back(listItem(query));
    }
    answer["runs"] = std::move(runs);
    return answer;
  });
}

json::array Store::artifactsOf(const AttemptKey& key) {
  json::array files;
  Query query = database_.query(
      "SELECT digest, bytes, kind, name FROM blob_references WHERE run = ? AND attempt = ? "
      "ORDER BY seq");
  query.with(key.run).with(key.attempt);
  while (query.next())
    files.push_back(json::object{{"sha256", query.text(0)},
                                 {"bytes", query.number(1)},
                                 {"kind", query.text(2)},
                                 {"name", query.text(3)},
                                 {"stored", blobs_.has(query.text(0))}});
  return files;
}

base::Result<json::object> Store::describeRun(const std::string& run) {
  return guarded<json::object>("describing the run " + run, [&]() -> base::Result<json::object> {
    Query row = database_.query(
        "SELECT run, attempt, state, opened_ms, seen_ms, lost_ms, summary, receipt, "
        "lease_until_ms, acked_seq, head, identity, key, report, report_sha256 "
        "FROM attempts WHERE run = ? ORDER BY attempt DESC");
    row.with(run);
    if (!row.next()) return base::Error{base::Kind::NotFound, "no such run"};
    json::object answer = listItem(row);
    const AttemptKey key{run, static_cast<std::uint32_t>(row.number(1))};
    answer["lease_until"] = timeText(row.number(8));
    answer["lease_s"] = lease_.count();
    answer["acked_seq"] = row.number(9);
    answer["head"] = row.text(10);
    answer["identity"] = parsedOrNull(row.text(11));
    answer["key"] = row.text(12);
    answer["report"] = parsedOrNull(row.text(13));
    if (const json::object* report = answer["report"].if_object()) {
      std::string fault = reportFault(answer["summary"].as_object(), row.number(9), *report);
      if (!fault.empty()) answer["report_fault"] = std::move(fault);
    }
    answer["report_sha256"] = row.text(14);
    answer["receipt"] = parsedOrNull(row.text(7));
    answer["files"] = artifactsOf(key);
    if (row.text(2) == "lost") answer["sentence"] = lostSentence(answer);
    json::array attempts;
    do attempts.push_back(listItem(row));
    while (row.next());
    answer["attempts"] = std::move(attempts);
    return answer;
  });
}

base::Result<std::string> Store::events(const AttemptKey& key, std::uint64_t after) {
  return guarded<std::string>("reading events", [&]() -> base::Result<std::string> {
    Query known = database_.query("SELECT 1 FROM attempts WHERE run = ? AND attempt = ?");
    if (!known.with(key.run).with(key.attempt).next())
      return base::Error{base::Kind::NotFound, "no such attempt"};
    Query query = database_.query(
        "SELECT line FROM events WHERE run = ? AND attempt = ? AND seq > ? ORDER BY seq");
    query.with(key.run).with(key.attempt).with(static_cast<std::int64_t>(after));
    std::string lines;
    while (lines.size() < kEventBytesAtOnce && query.next()) lines.append(query.text(0)) += '\n';
    return lines;
  });
}

base::Result<std::string> Store::blobName(const AttemptKey& key, const std::string& digest) {
  return guarded<std::string>("finding a blob", [&]() -> base::Result<std::string> {
    Query query = database_.query(
        "SELECT name FROM blob_references WHERE run = ? AND attempt = ? AND digest = ? LIMIT 1");
    if (!query.with(key.run).with(key.attempt).with(digest).next())
      return base::Error{base::Kind::NotFound, "this attempt has no such blob"};
    return query.text(0);
  });
}

}  // namespace warder::collector
