// What an agent itself says about its end. A claim, never the verdict.
#pragma once
#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warder::report {

namespace json = boost::json;

/// The `result` line of Claude Code (--output-format stream-json or json), observed with 2.1.332.
/// `is_error` is the field to believe: an API failure comes with subtype "success".
struct LastWords {
  bool is_error = false;
  std::string subtype;          // success, error_during_execution, error_max_turns, …
  std::string terminal_reason;  // completed, api_error, aborted_tools, max_turns, budget_exhausted
  std::string result;           // the answer; cut
  std::optional<std::int64_t> api_error_status;
  std::string api_error;
  std::string session_id;
  std::optional<std::int64_t> num_turns;
  std::optional<double> total_cost_usd;
  json::object usage;
  std::size_t permission_denials = 0;
};

/// Nothing when the line is no result line, or has no boolean `is_error`.
std::optional<LastWords> parseLastWords(std::string_view line);

/// The line, whole or cut, comes from such a stream, so that a result line was to be expected.
bool looksLikeStreamJson(std::string_view line);

/// Session, turns, cost and usage as the agent counted them, for the report.
json::object claimOf(const LastWords& words);

}  // namespace warder::report
