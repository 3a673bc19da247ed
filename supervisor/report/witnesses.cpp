#include "supervisor/report/witnesses.h"

#include <cmath>
#include <functional>

#include "supervisor/journal/clean_text.h"

namespace warder::report {

namespace {

constexpr std::size_t kMaxDenials = 1000;
constexpr std::size_t kMaxModels = 100;
constexpr std::size_t kMaxWarnings = 20;

using Data = const json::object&;

std::uint64_t countOf(Data data, std::string_view key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(numberOf(data, key), 0));
}

double realOf(Data data, std::string_view key) {
  const auto* field = data.if_contains(key);
  const double value = field && field->is_number() ? field->to_number<double>() : 0;
  return std::isfinite(value) ? value : 0;
}

void setCause(Witnesses& seen, Cause cause, Data data) {
  if (seen.cause != Cause::None || seen.end) return;
  seen.cause = cause;
  seen.cause_data = data;
}

void onStop(Witnesses& seen, Data data) {
  const std::string by = textOf(data, "by");
  setCause(seen,
           by == "limit"           ? Cause::Limit
           : by == "broker_lost"   ? Cause::BrokerLost
           : by == "scribe_lost"   ? Cause::ScribeLost
           : by == "spool_trouble" ? Cause::SpoolTrouble
                                   : Cause::Stop,
           data);
}

void onExit(Witnesses& seen, Data data) {
  AgentEnd end;
  end.signal = textOf(data, "signal");
  if (data.contains("code")) end.code = numberOf(data, "code");
  end.data = data;
  seen.end = std::move(end);
}

/// A probe is no request that the agent's work hangs on.
bool isProbe(Data data) {
  const std::string method = textOf(data, "method");
  return method == "HEAD" || method == "OPTIONS";
}

void addUsage(Witnesses& seen, Data data, bool failed) {
  std::string model = textOf(data, "model");
  if (model.empty()) model = "unknown";
  if (seen.usage.size() >= kMaxModels && !seen.usage.contains(model)) model = "others";
  ModelUsage& usage = seen.usage[model];
  ++usage.requests;
  usage.errors += failed;
  usage.input_tokens += countOf(data, "input_tokens");
  usage.output_tokens += countOf(data, "output_tokens");
  usage.cache_read_tokens += countOf(data, "cache_read_tokens");
  usage.cache_write_tokens += countOf(data, "cache_write_tokens");
  const double nano = std::clamp(realOf(data, "cost_usd"), 0.0, 1e6) * 1e9;
  usage.cost_nano_usd += std::llround(nano);
  if (!failed && !flagOf(data, "priced")) usage.priced = false;
}

/// The status that a provider gives to the same error when it does not come amid a stream.
/// Source: Anthropic's API reference, "Errors".
std::int64_t statusOfError(const std::string& error, std::int64_t otherwise) {
  if (error.empty()) return otherwise;
  static const std::map<std::string, std::int64_t> kStatuses = {
      {"invalid_request_error", 400}, {"authentication_error", 401}, {"billing_error", 402},
      {"permission_error", 403},      {"not_found_error", 404},      {"request_too_large", 413},
      {"rate_limit_error", 429},      {"timeout_error", 504},        {"overloaded_error", 529}};
  const auto known = kStatuses.find(error);
  return known == kStatuses.end() ? 500 : known->second;
}

void onCall(Witnesses& seen, Data data) {
  const std::int64_t status = numberOf(data, "status");
  const std::string ended = textOf(data, "ended");
  const bool left = ended == "client_gone";  // the agent's own choice: says nothing of the provider
  const bool bad_status = !left && (status < 200 || status > 399);
  const bool cut = ended == "cut";
  addUsage(seen, data, bad_status || cut || data.contains("error"));
  if (left || isProbe(data)) return;
  // The same exchange: what the broker made of an upstream that failed must not hide the failure.
  if (seen.last_call == LastCall::UpstreamFailed && (cut || status == 0)) return;
  seen.last_call = LastCall::Answered;
  seen.last_status = status < 400 ? statusOfError(textOf(data, "error"), status) : status;
  seen.last_call_data = data;
}

/// Those that were not told one by one were others like it: which, nobody knows, so the total alone
/// has them.
void countDenial(Witnesses& seen, const Denial& denial, Data data) {
  seen.denied += 1 + countOf(data, "suppressed");
  if (seen.denials.size() < kMaxDenials || seen.denials.contains(denial)) ++seen.denials[denial];
}

void onDenied(Witnesses& seen, Data data) {
  countDenial(seen, {textOf(data, "host"), textOf(data, "path"), textOf(data, "reason")}, data);
  if (isProbe(data)) return;
  seen.last_call = LastCall::Denied;
  seen.last_call_data = data;
}

/// Only who asks for an address wants to go there. What programs tell other hosts after their
/// provider failed (telemetry, at their end) must not hide that failure.
void onNameDenied(Witnesses& seen, Data data) {
  const std::string name = textOf(data, "name");
  countDenial(seen, {name, "", textOf(data, "sentence")}, data);
  const std::string type = textOf(data, "type");
  const bool provider_failed =
      seen.last_call == LastCall::UpstreamFailed ||
      (seen.last_call == LastCall::Answered && (seen.last_status < 200 || seen.last_status > 399));
  if (provider_failed || (type != "A" && type != "AAAA")) return;
  seen.last_call = LastCall::Denied;
  seen.last_call_data = {{"host", name}, {"reason", name + ": " + textOf(data, "sentence")}};
}

void onUpstreamFailed(Witnesses& seen, Data data) {
  ++seen.upstream_failures;
  seen.last_call = LastCall::UpstreamFailed;
  seen.last_call_data = data;
}

void onOutput(Witnesses& seen, Data data) {
  const std::string name = textOf(data, "stream");
  Stream stream{data, textOf(data, "last_line"), flagOf(data, "last_line_complete")};
  stream.data.erase("last_line");
  if (name == "stdout") seen.words = parseLastWords(stream.last_line);
  seen.streams[name] = std::move(stream);
}

void onStageLost(Witnesses& seen, Data data) {
  const std::string stage = textOf(data, "stage");
  seen.stages_lost.push_back(data);
  if (stage == "init") seen.init_lost = true;
  if (stage == "scribe") seen.scribe_lost = true;
  if (stage == "broker" && !flagOf(data, "restarted")) setCause(seen, Cause::BrokerLost, data);
}

void onMemoryWarning(Witnesses& seen, Data data) {
  ++seen.memory_warnings;
  seen.highest_mark = std::max(seen.highest_mark, countOf(data, "mark_percent"));
}

void onWarning(Witnesses& seen, Data data) {
  if (seen.warnings.size() < kMaxWarnings) seen.warnings.push_back(textOf(data, "sentence"));
}

void onProgram(Witnesses& seen, Data data) {
  const bool at_end = textOf(data, "at") == "end";
  json::object& program = at_end ? seen.program_end : seen.program_start;
  program = data;
  for (const char* key : {"at", "sentence"}) program.erase(key);
  if (flagOf(data, "changed")) onWarning(seen, data);
}

void onSetupFailed(Witnesses& seen, Data data) {
  seen.setup_failed = data;
  json::object cause = data;
  for (const char* listed : {"faults", "faults_total"}) cause.erase(listed);  // the report's own
  setCause(seen, Cause::SetupFailed, cause);
}

using Handler = std::function<void(Witnesses&, Data)>;

const std::map<std::string, Handler, std::less<>>& handlers() {
  static const std::map<std::string, Handler, std::less<>> table = {
      {"run.started", [](Witnesses& seen, Data data) { seen.start = data; }},
      {"box.ready", [](Witnesses& seen, Data data) { seen.network = data; }},
      {"preflight.warning", onWarning},
      {"disk.full", onWarning},
      {"setup.failed", onSetupFailed},
      {"limit.reached", [](Witnesses& seen, Data data) { setCause(seen, Cause::Limit, data); }},
      {"stop.requested", onStop},
      {"spool.trouble",
       [](Witnesses& seen, Data data) { setCause(seen, Cause::SpoolTrouble, data); }},
      {"stage.lost", onStageLost},
      {"agent.exited", onExit},
      {"agent.program", onProgram},
      {"agent.waiting_for_input", onWarning},
      {"agent.leftovers", [](Witnesses& seen, Data data) { seen.leftovers = data; }},
      {"memory.warning", onMemoryWarning},
      {"memory.oom", [](Witnesses& seen, Data data) { seen.oom_kills += countOf(data, "kills"); }},
      {"memory.summary", [](Witnesses& seen, Data data) { seen.memory_summary = data; }},
      {"llm.call", onCall},
      {"broker.denied", onDenied},
      {"dns.denied", onNameDenied},
      {"broker.upstream_failed", onUpstreamFailed},
      {"broker.bad_request", [](Witnesses& seen, Data) { ++seen.bad_requests; }},
      {"output.closed", onOutput},
      {"artifact.stored", [](Witnesses& seen, Data data) { seen.artifacts.push_back(data); }},
      {"artifact.skipped", [](Witnesses& seen, Data data) { seen.skipped.push_back(data); }},
      {"patch.stored", [](Witnesses& seen, Data data) { seen.patch = data; }},
      {"patch.skipped",
       [](Witnesses& seen, Data data) { seen.patch_skipped = textOf(data, "reason"); }},
      {"run.finished", [](Witnesses& seen, Data) { seen.finished = true; }},
  };
  return table;
}

}  // namespace

void Witnesses::add(const base::Event& event) {
  if (finished) return;
  const auto handler = handlers().find(event.type);
  if (handler == handlers().end()) return;
  for (const char* timed :
       {"run.started", "box.ready", "agent.started", "agent.exited", "run.finished"})
    if (event.type == timed) times[event.type] = base::timestamp(event.time);
  json::object data = event.data;
  journal::makeValidUtf8(data);  // as the writer does: live and replayed events are the same
  data.erase("key");             // the writer's own addition
  handler->second(*this, data);
}

std::string textOf(const json::object& data, std::string_view key) {
  const auto* field = data.if_contains(key);
  return field && field->is_string() ? std::string(field->as_string()) : std::string();
}

std::int64_t numberOf(const json::object& data, std::string_view key) {
  const auto* field = data.if_contains(key);
  boost::system::error_code failure;
  const auto value = field ? field->to_number<std::int64_t>(failure) : 0;
  return failure ? 0 : value;
}

bool flagOf(const json::object& data, std::string_view key) {
  const auto* field = data.if_contains(key);
  return field && field->is_bool() && field->as_bool();
}

}  // namespace warder::report
