#include "supervisor/report/report_json.h"

#include <algorithm>

#include "supervisor/journal/clean_text.h"
#include "supervisor/report/refused_record.h"

namespace warder::report {

namespace {

constexpr std::size_t kMaxListed = 200;  // artifacts, and as many skipped ones
constexpr std::size_t kMaxDenials = 20;  // by count
constexpr std::size_t kMaxSaid = 4096;   // bytes of the agent's last line
constexpr std::size_t kMaxText = 1024;   // bytes of any other text
constexpr std::size_t kMaxItems = 64;    // of any other list
constexpr std::size_t kMaxFault = 512;   // bytes of one's place, and of its sentence

json::value bounded(const json::object& object) {
  json::value value = object;
  journal::shorten(value, kMaxText, kMaxItems);
  return value;
}

json::object pick(const json::object& from, std::initializer_list<const char*> keys) {
  json::object picked;
  for (const char* key : keys)
    if (const auto* field = from.if_contains(key)) picked[key] = *field;
  return picked;
}

json::object runOf(const Witnesses& seen) {
  json::object run = pick(seen.start, {"run_id", "attempt", "warder", "job", "policy", "limits",
                                       "memory", "walls_missing"});
  for (const auto& field : pick(seen.network, {"mechanism", "capture", "ipv6"}))
    run[field.key()] = field.value();
  return bounded(run).as_object();
}

/// The last line of a stream as the agent wrote it, for a report that has to explain a failure.
std::string said(const Witnesses& seen, const char* stream) {
  const auto found = seen.streams.find(stream);
  if (found == seen.streams.end()) return {};
  return std::string(journal::cutUtf8(found->second.last_line, kMaxSaid));
}

json::object agentOf(const Witnesses& seen, const Outcome& outcome) {
  json::object agent = pick(seen.start, {"preset"});
  if (const auto* started = seen.start.if_contains("agent"); started && started->is_object())
    for (const auto& item : started->as_object()) agent[item.key()] = item.value();
  if (seen.end)
    for (const char* key : {"code", "signal", "max_rss_bytes", "cpu_ms", "wall_ms"})
      if (const auto* field = seen.end->data.if_contains(key)) agent[key] = *field;
  if (!seen.leftovers.empty()) agent["leftovers"] = seen.leftovers;
  if (!seen.program_start.empty())
    agent["program"] = {{"start", seen.program_start}, {"end", seen.program_end}};
  agent = bounded(agent).as_object();
  if (outcome.cls != Class::Ok) agent["last_stderr_line"] = said(seen, "stderr");
  return agent;
}

json::object usageOf(const Witnesses& seen) {
  json::array models;
  std::int64_t total = 0;
  bool priced = true;
  for (const auto& [model, usage] : seen.usage) {
    models.push_back({{"model", journal::cutUtf8(model, 200)},
                      {"requests", usage.requests},
                      {"errors", usage.errors},
                      {"input_tokens", usage.input_tokens},
                      {"output_tokens", usage.output_tokens},
                      {"cache_read_tokens", usage.cache_read_tokens},
                      {"cache_write_tokens", usage.cache_write_tokens},
                      {"cost_usd", static_cast<double>(usage.cost_nano_usd) / 1e9},
                      {"priced", usage.priced}});
    total += usage.cost_nano_usd;
    priced = priced && usage.priced;
  }
  return {{"source", "broker"},
          {"by_model", std::move(models)},
          {"total_cost_usd", static_cast<double>(total) / 1e9},
          {"priced", priced}};
}

json::object memoryOf(const Witnesses& seen) {
  json::object memory =
      pick(seen.memory_summary, {"source", "limit_bytes", "peak_bytes", "used_bytes"});
  memory["oom_kills"] = seen.oom_kills;
  memory["warnings"] = seen.memory_warnings;
  if (seen.memory_warnings > 0) memory["highest_mark_percent"] = seen.highest_mark;
  return memory;
}

json::object egressOf(const Witnesses& seen) {
  std::vector<std::pair<Denial, std::uint64_t>> most(seen.denials.begin(), seen.denials.end());
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (most.size() > kMaxDenials) most.resize(kMaxDenials);
  json::array denials;
  for (const auto& [denial, count] : most)
    denials.push_back({{"host", journal::cutUtf8(denial.host, 253)},
                       {"path", journal::cutUtf8(denial.path, 300)},
                       {"reason", journal::cutUtf8(denial.reason, 300)},
                       {"count", count}});
  return {{"denied", seen.denied},
          {"denials", std::move(denials)},
          {"upstream_failures", seen.upstream_failures},
          {"bad_requests", seen.bad_requests}};
}

json::object logsOf(const Witnesses& seen) {
  json::object logs;
  for (const auto& [name, stream] : seen.streams)
    if (name == "stdout" || name == "stderr")
      logs[name] = pick(stream.data, {"bytes", "sha256", "lost_bytes"});
  return logs;
}

/// Sorted by path, because init's and the scribe's own events meet in no fixed order.
json::array listOf(std::vector<json::object> entries, std::size_t most) {
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return textOf(a, "path") < textOf(b, "path");
  });
  if (entries.size() > most) entries.resize(most);
  json::array list;
  for (const auto& entry : entries) list.push_back(bounded(entry));
  return list;
}

void addResults(json::object& report, const Witnesses& seen, std::size_t listed) {
  std::uint64_t bytes = 0;
  for (const auto& artifact : seen.artifacts)
    bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(numberOf(artifact, "bytes"), 0));
  report["artifacts"] = listOf(seen.artifacts, listed);
  report["artifacts_skipped"] = listOf(seen.skipped, listed);
  report["artifacts_total"] = {
      {"stored", seen.artifacts.size()}, {"skipped", seen.skipped.size()}, {"bytes", bytes}};
  if (!seen.patch.empty())
    report["patch"] = bounded(seen.patch);
  else if (!seen.patch_skipped.empty())
    report["patch"] = {{"skipped", journal::cutUtf8(seen.patch_skipped, kMaxText)}};
  else
    report["patch"] = nullptr;
}

json::array warningsOf(const Witnesses& seen) {
  json::array warnings;
  for (const auto& sentence : seen.warnings)
    warnings.push_back(json::value(journal::cutUtf8(sentence, kMaxText)));
  return warnings;
}

/// What was wrong with the input of a run that was refused: each fault with its place.
void addFaults(json::object& report, const Witnesses& seen) {
  const auto* faults = seen.setup_failed.if_contains("faults");
  if (faults == nullptr || !faults->is_array()) return;
  json::value listed = *faults;
  journal::shorten(listed, kMaxFault, kMostRefusalFaults);
  report["faults"] = std::move(listed);
  report["faults_total"] = numberOf(seen.setup_failed, "faults_total");
}

json::array stagesLostOf(const Witnesses& seen) {
  json::array lost;
  for (const auto& stage : seen.stages_lost)
    if (lost.size() < kMaxItems) lost.push_back(bounded(stage));
  return lost;
}

}  // namespace

json::object makeReport(const Witnesses& seen, const Outcome& outcome, std::uint64_t last_seq) {
  json::object times;
  for (const auto& [type, time] : seen.times) times[type] = time;
  json::object report{{"schema", "warder.run-report/1"},
                      {"run", runOf(seen)},
                      {"agent", agentOf(seen, outcome)},
                      {"outcome", bounded(toJson(outcome))},
                      {"times", std::move(times)},
                      {"usage", usageOf(seen)},
                      {"agent_claim", nullptr},
                      {"memory", memoryOf(seen)},
                      {"egress", egressOf(seen)},
                      {"logs", logsOf(seen)},
                      {"warnings", warningsOf(seen)},
                      {"stages_lost", stagesLostOf(seen)},
                      {"events", {{"last_seq", last_seq}}}};
  addFaults(report, seen);
  if (seen.words) report["agent_claim"] = claimOf(*seen.words);
  for (std::size_t listed = kMaxListed;; listed /= 2) {
    addResults(report, seen, listed);
    if (listed == 0 || json::serialize(report).size() <= kMaxReport) return report;
  }
}

}  // namespace warder::report
