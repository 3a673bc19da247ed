// What a list of runs shows of one run: a small fold over its events. Pure.
#pragma once
#include "collector/batch.h"

namespace warder::collector {

/// Adds one event to the summary, which starts as an empty object. Members: job, preset, policy,
/// warder, started, agent_started, finished (times), calls, errors, input_tokens, output_tokens,
/// cost_usd, unpriced, denials, memory_mark, oom_kills, last_type, last_time, outcome (of
/// run.finished), finished_seq. Values of the wrong type are left out.
void addToSummary(json::object& summary, const EventLine& line);

}  // namespace warder::collector
