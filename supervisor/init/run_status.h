// How a run stands right now: what `warder status` prints and the live view draws. Pure.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/base/result.h"

namespace warder::init {

struct RunStatus {
  struct Agent {
    pid_t pid = -1;  // -1 before it started and after it ended
    std::string program;
  };
  struct Memory {
    std::uint64_t used_bytes = 0;
    std::uint64_t limit_bytes = 0;  // 0: no limit is known
    std::string source;
    int next_mark_percent = 0;  // 0: all marks were passed, or there are none
  };
  struct Llm {
    std::uint64_t calls = 0, errors = 0, input_tokens = 0, output_tokens = 0;
    double cost_usd = 0;
  };
  struct Ending {
    std::string cls, reason, sentence;
  };

  std::string run_id;
  std::string phase = "starting";  // starting, baseline, running, stopping, leftovers, harvest,
                                   // closing, delivering, done
  std::int64_t elapsed_ms = 0;
  Agent agent;
  Memory memory;
  Llm llm;
  std::uint64_t denied = 0;
  std::uint64_t warnings = 0;
  std::optional<Ending> outcome;
  std::vector<int> marks;  // of the job, rising; not part of the JSON
};

/// What an event of the run changes: identity, agent, counters, memory when a mark was passed, the
/// outcome. Unknown events and wrong fields are passed over.
void addEvent(RunStatus& status, const base::Event& event);

/// Memory as it is now; finds the next mark.
void setMemory(RunStatus& status, RunStatus::Memory memory);

/// {"run_id","phase","elapsed_ms","agent":{"pid","program"},"memory":{"used_bytes","limit_bytes",
/// "source","next_mark_percent"},"llm":{"calls","errors","input_tokens","output_tokens",
/// "cost_usd"},"egress":{"denied"},"warnings","outcome":null or {"class","reason","sentence"}}.
/// `pid`, `limit_bytes` and `next_mark_percent` are null when there is none.
base::json::object toJson(const RunStatus& status);

/// Errors: Peer when `object` is none.
base::Result<RunStatus> runStatusFromJson(const base::json::object& object);

}  // namespace warder::init
