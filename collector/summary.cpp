#include "collector/summary.h"

#include <algorithm>
#include <cmath>

#include "collector/sound_json.h"
#include "supervisor/journal/clean_text.h"

namespace warder::collector {

namespace {

constexpr std::size_t kMaxText = 1024;

void copyText(json::object& summary, std::string_view as, const json::value* value) {
  if (value != nullptr && value->is_string())
    summary[as] = journal::cutUtf8(value->get_string(), kMaxText);
}

void add(json::object& summary, std::string_view name, double amount) {
  const double sum = std::min(soundNumber(summary.if_contains(name)) + amount, kMaxNumber);
  if (sum == std::floor(sum))
    summary[name] = static_cast<std::uint64_t>(sum);
  else
    summary[name] = sum;
}

void addStart(json::object& summary, const EventLine& line) {
  summary["started"] = line.time;
  copyText(summary, "preset", line.data.if_contains("preset"));
  copyText(summary, "warder", line.data.if_contains("warder"));
  if (const json::value* job = line.data.if_contains("job"); job != nullptr && job->is_object())
    copyText(summary, "job", job->get_object().if_contains("file"));
  if (const json::value* policy = line.data.if_contains("policy");
      policy != nullptr && policy->is_object())
    copyText(summary, "policy", policy->get_object().if_contains("source"));
}

/// The first run.finished counts, as it does for the report. Of its outcome the texts that lists
/// show are kept: bounded, so that a run cannot make a list large or deep.
void addFinish(json::object& summary, const EventLine& line) {
  if (summary.contains("finished_seq")) return;
  summary["finished"] = line.time;
  summary["finished_seq"] = line.seq;
  const json::value* told = line.data.if_contains("outcome");
  const json::object& from = told != nullptr && told->is_object() ? told->get_object() : line.data;
  json::object outcome;
  for (const std::string_view name : {"class", "reason", "sentence", "advice", "confidence"})
    copyText(outcome, name, from.if_contains(name));
  summary["outcome"] = std::move(outcome);
}

void addCall(json::object& summary, const json::object& data) {
  add(summary, "calls", 1);
  const double status = soundNumber(data.if_contains("status"));
  if (status < 200 || status > 299) add(summary, "errors", 1);
  for (const std::string_view name :
       {"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd"})
    add(summary, name, soundNumber(data.if_contains(name)));
  const json::value* priced = data.if_contains("priced");
  if (priced != nullptr && priced->is_bool() && !priced->get_bool()) summary["unpriced"] = true;
  copyText(summary, "model", data.if_contains("model"));
}

}  // namespace

void addToSummary(json::object& summary, const EventLine& line) {
  summary["last_type"] = line.type;
  summary["last_time"] = line.time;
  if (line.type == "run.started") addStart(summary, line);
  if (line.type == "agent.started") summary["agent_started"] = line.time;
  if (line.type == "llm.call") addCall(summary, line.data);
  if (line.type == "broker.denied" || line.type == "dns.denied")
    add(summary, "denials", 1 + soundNumber(line.data.if_contains("suppressed")));
  if (line.type == "memory.warning")
    summary["memory_mark"] = soundNumber(line.data.if_contains("mark_percent"));
  if (line.type == "memory.oom")
    add(summary, "oom_kills", soundNumber(line.data.if_contains("kills")));
  if (line.type == "run.finished") addFinish(summary, line);
}

}  // namespace warder::collector
