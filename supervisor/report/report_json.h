// The run report: schema "warder.run-report/1". Pure.
#pragma once
#include <cstdint>

#include "supervisor/report/outcome.h"
#include "supervisor/report/witnesses.h"

namespace warder::report {

/// Longest report in bytes as printed; fits a message between stages. Of long lists it keeps the
/// first entries and the true count.
inline constexpr std::size_t kMaxReport = 96 * 1024;

/// `last_seq`: the seq of run.finished, 0 when not known.
json::object makeReport(const Witnesses& seen, const Outcome& outcome, std::uint64_t last_seq);

}  // namespace warder::report
