#include "collector/summary.h"

#include <cmath>

namespace warder::collector {

namespace {

constexpr std::size_t kMaxText = 1024;

void copyText(json::object& summary, std::string_view as, const json::value* value) {
  if (value != nullptr && value->is_string())
    summary[as] = std::string_view(value->get_string()).substr(0, kMaxText);
}

double number(const json::value* value) {
  if (value == nullptr || !value->is_number()) return 0;
  const double read = value->to_number<double>();
  return std::isfinite(read) && read > 0 ? read : 0;
}

void add(json::object& summary, std::string_view name, double amount) {
  const double sum = number(summary.if_contains(name)) + amount;
  if (sum == std::floor(sum) && sum < 9e15)
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

void addCall(json::object& summary, const json::object& data) {
  add(summary, "calls", 1);
  const double status = number(data.if_contains("status"));
  if (status < 200 || status > 299) add(summary, "errors", 1);
  for (const std::string_view name :
       {"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd"})
    add(summary, name, number(data.if_contains(name)));
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
  if (line.type == "broker.denied") add(summary, "denials", 1);
  if (line.type == "memory.warning")
    summary["memory_mark"] = number(line.data.if_contains("mark_percent"));
  if (line.type == "memory.oom") add(summary, "oom_kills", number(line.data.if_contains("kills")));
  if (line.type == "run.finished") {
    summary["finished"] = line.time;
    summary["finished_seq"] = line.seq;
    const json::value* outcome = line.data.if_contains("outcome");
    if (outcome != nullptr && outcome->is_object())
      summary["outcome"] = *outcome;
    else
      summary["outcome"] = line.data;
  }
}

}  // namespace warder::collector
