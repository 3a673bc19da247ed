#include "supervisor/init/run_status.h"

#include "supervisor/report/witnesses.h"

namespace warder::init {

using base::Error;
using base::Event;
using base::Kind;
using base::Result;
using report::flagOf;
using report::numberOf;
using report::textOf;
namespace json = base::json;

namespace {

std::uint64_t countOf(const json::object& data, std::string_view key) {
  const std::int64_t number = numberOf(data, key);
  return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

double moneyOf(const json::object& data) {
  const auto* value = data.if_contains("cost_usd");
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

const json::object* objectOf(const json::object& data, std::string_view key) {
  const auto* value = data.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* arrayOf(const json::object& data, std::string_view key) {
  const auto* value = data.if_contains(key);
  return value == nullptr ? nullptr : value->if_array();
}

void addStart(RunStatus& status, const json::object& data) {
  status.run_id = textOf(data, "run_id");
  const auto* memory = objectOf(data, "memory");
  const auto* marks = memory != nullptr ? arrayOf(*memory, "warn_at_percent") : nullptr;
  if (marks == nullptr) return;
  status.marks.clear();
  for (const auto& mark : *marks)
    if (mark.is_int64()) status.marks.push_back(static_cast<int>(mark.get_int64()));
  setMemory(status, status.memory);
}

void addAgent(RunStatus& status, const json::object& data) {
  status.agent.pid = static_cast<pid_t>(numberOf(data, "pid"));
  const auto* argv = arrayOf(data, "argv");
  if (argv != nullptr && !argv->empty() && argv->front().is_string())
    status.agent.program = std::string(argv->front().get_string());
}

void addCall(RunStatus& status, const json::object& data) {
  ++status.llm.calls;
  const bool failed = numberOf(data, "status") >= 400 || !textOf(data, "error").empty();
  status.llm.errors += failed ? 1 : 0;
  for (const char* kind : {"input_tokens", "cache_read_tokens", "cache_write_tokens"})
    status.llm.input_tokens += countOf(data, kind);
  status.llm.output_tokens += countOf(data, "output_tokens");
  if (flagOf(data, "priced")) status.llm.cost_usd += moneyOf(data);
}

void addEnding(RunStatus& status, const json::object& data) {
  const auto* outcome = objectOf(data, "outcome");
  if (outcome == nullptr) return;
  status.outcome = {textOf(*outcome, "class"), textOf(*outcome, "reason"),
                    textOf(*outcome, "sentence")};
}

}  // namespace

void addEvent(RunStatus& status, const Event& event) {
  const json::object& data = event.data;
  if (event.type == "run.started") {
    addStart(status, data);
  } else if (event.type == "agent.started") {
    addAgent(status, data);
  } else if (event.type == "agent.exited") {
    status.agent.pid = -1;
  } else if (event.type == "llm.call") {
    addCall(status, data);
  } else if (event.type == "broker.denied" || event.type == "dns.denied") {
    status.denied += 1 + countOf(data, "suppressed");
  } else if (event.type == "memory.warning") {
    ++status.warnings;
    setMemory(status,
              {countOf(data, "used_bytes"), countOf(data, "limit_bytes"), textOf(data, "source")});
  } else if (event.type == "preflight.warning" || event.type == "disk.full" ||
             event.type == "memory.oom" || event.type == "agent.waiting_for_input") {
    ++status.warnings;
  } else if (event.type == "agent.program") {
    status.warnings += flagOf(data, "changed") ? 1 : 0;
  } else if (event.type == "run.finished") {
    addEnding(status, data);
  }
}

void setMemory(RunStatus& status, RunStatus::Memory memory) {
  memory.next_mark_percent = 0;
  for (const int mark : status.marks) {
    // As watch/marks.cpp: a mark is passed when use reaches that share of the limit.
    const auto factor = static_cast<unsigned>(mark);
    const auto share = memory.limit_bytes / 100 * factor + memory.limit_bytes % 100 * factor / 100;
    if (memory.limit_bytes > 0 && memory.used_bytes >= share) continue;
    memory.next_mark_percent = mark;
    break;
  }
  status.memory = std::move(memory);
}

json::object toJson(const RunStatus& status) {
  const auto& memory = status.memory;
  json::value pid, limit, mark, outcome;
  if (status.agent.pid > 0) pid = status.agent.pid;
  if (memory.limit_bytes > 0) limit = memory.limit_bytes;
  if (memory.next_mark_percent > 0) mark = memory.next_mark_percent;
  if (status.outcome)
    outcome = {{"class", status.outcome->cls},
               {"reason", status.outcome->reason},
               {"sentence", status.outcome->sentence}};
  return {{"run_id", status.run_id},
          {"phase", status.phase},
          {"elapsed_ms", status.elapsed_ms},
          {"agent", {{"pid", pid}, {"program", status.agent.program}}},
          {"memory",
           {{"used_bytes", memory.used_bytes},
            {"limit_bytes", limit},
            {"source", memory.source},
            {"next_mark_percent", mark}}},
          {"llm",
           {{"calls", status.llm.calls},
            {"errors", status.llm.errors},
            {"input_tokens", status.llm.input_tokens},
            {"output_tokens", status.llm.output_tokens},
            {"cost_usd", status.llm.cost_usd}}},
          {"egress", {{"denied", status.denied}}},
          {"warnings", status.warnings},
          {"outcome", outcome}};
}

Result<RunStatus> runStatusFromJson(const json::object& object) {
  const json::object* parts[4] = {objectOf(object, "agent"), objectOf(object, "memory"),
                                  objectOf(object, "llm"), objectOf(object, "egress")};
  for (const auto* part : parts)
    if (part == nullptr) return Error{Kind::Peer, "this is no status of a run"};
  const auto& [agent, memory, llm, egress] = parts;
  RunStatus status;
  status.run_id = textOf(object, "run_id");
  status.phase = textOf(object, "phase");
  status.elapsed_ms = numberOf(object, "elapsed_ms");
  const auto pid = countOf(*agent, "pid");
  status.agent = {pid > 0 ? static_cast<pid_t>(pid) : -1, textOf(*agent, "program")};
  status.memory = {countOf(*memory, "used_bytes"), countOf(*memory, "limit_bytes"),
                   textOf(*memory, "source"),
                   static_cast<int>(numberOf(*memory, "next_mark_percent"))};
  status.llm = {countOf(*llm, "calls"), countOf(*llm, "errors"), countOf(*llm, "input_tokens"),
                countOf(*llm, "output_tokens"), moneyOf(*llm)};
  status.denied = countOf(*egress, "denied");
  status.warnings = countOf(object, "warnings");
  addEnding(status, object);
  return status;
}

}  // namespace warder::init
