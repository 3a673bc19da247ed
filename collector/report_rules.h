// What makes a report one, and when the journal speaks against it. Pure.
#pragma once
#include <boost/json.hpp>
#include <string>

namespace warder::collector {

namespace json = boost::json;

/// Why `report` is no run report: its schema, an outcome with class and reason, the list of
/// artifacts and events.last_seq are needed. Empty when it is one. Source: docs/outcome.md.
std::string faultOfReport(const json::object& report);

/// What the journal that is here, folded into `summary` up to line `acked_seq`, says against a
/// report without fault. Empty while nothing speaks against it. The journal is believed: it is
/// chained, and stored before anybody knew the end.
std::string contradictionOf(const json::object& summary, std::uint64_t acked_seq,
                            const json::object& report);

/// `events.last_seq` of a report without fault.
std::uint64_t lastSeqOf(const json::object& report);

}  // namespace warder::collector
