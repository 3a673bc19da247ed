// What the events of a run said, put in order: the one input of the verdict and of the report.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/report/last_words.h"

namespace warder::report {

/// What ended the run, if it was not the agent: the first that was seen before the agent's end.
enum class Cause { None, SetupFailed, Limit, Stop, BrokerLost, ScribeLost, SpoolTrouble };

/// The last thing that happened to a request of the agent's.
enum class LastCall { None, Answered, UpstreamFailed, Denied };

struct AgentEnd {
  std::optional<std::int64_t> code;
  std::string signal;  // "SIGKILL"; empty when it exited
  json::object data;
};

/// One model's share; costs are whole billionths of a dollar, so that sums do not depend on order
/// or on how a number was printed.
struct ModelUsage {
  std::uint64_t requests = 0, errors = 0;
  std::uint64_t input_tokens = 0, output_tokens = 0, cache_read_tokens = 0, cache_write_tokens = 0;
  std::int64_t cost_nano_usd = 0;
  bool priced = true;
};

struct Denial {
  std::string host, path, reason;
  auto operator<=>(const Denial&) const = default;
};

struct Stream {
  json::object data;  // of output.closed
  std::string last_line;
  bool last_line_complete = true;
};

struct Witnesses {
  json::object start;  // data of run.started
  std::map<std::string, std::string> times;
  json::object network;  // data of box.ready
  json::object setup_failed;
  Cause cause = Cause::None;
  json::object cause_data;
  std::optional<AgentEnd> end;
  json::object leftovers;
  json::object program_start, program_end;  // of agent.program
  bool init_lost = false;                   // said by an event, or by the journal's sudden end
  bool scribe_lost = false;                 // said by who closed the journal
  std::uint64_t oom_kills = 0, memory_warnings = 0, highest_mark = 0;
  json::object memory_summary;
  LastCall last_call = LastCall::None;
  std::int64_t last_status = 0;
  json::object last_call_data;
  std::map<std::string, ModelUsage> usage;
  std::map<Denial, std::uint64_t> denials;
  std::uint64_t denied = 0, upstream_failures = 0, bad_requests = 0;
  std::map<std::string, Stream> streams;
  std::optional<LastWords> words;
  std::vector<json::object> artifacts, skipped;
  json::object patch;         // of patch.stored
  std::string patch_skipped;  // reason
  std::vector<std::string> warnings;
  std::vector<json::object> stages_lost;
  bool finished = false;

  /// Takes one event in the order of the journal. What comes after run.finished is not part of the
  /// verdict and is left out; unknown events and wrong fields are passed over.
  void add(const base::Event& event);
};

/// A field of an event, or nothing when it is missing or of another type.
std::string textOf(const json::object& data, std::string_view key);
std::int64_t numberOf(const json::object& data, std::string_view key);
bool flagOf(const json::object& data, std::string_view key);

}  // namespace warder::report
