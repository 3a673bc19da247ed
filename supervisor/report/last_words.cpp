#include "supervisor/report/last_words.h"

#include "supervisor/base/wire.h"
#include "supervisor/journal/clean_text.h"

namespace warder::report {

namespace {

constexpr std::size_t kMaxText = 2048;
constexpr std::size_t kMaxUsage = 32;  // entries of each object, and of each array

std::string text(const json::object& line, std::string_view key) {
  const auto* field = line.if_contains(key);
  if (field == nullptr || !field->is_string()) return {};
  return std::string(journal::cutUtf8(journal::validUtf8(field->as_string()), kMaxText));
}

template <class Number>
std::optional<Number> number(const json::object& line, std::string_view key) {
  const auto* field = line.if_contains(key);
  if (field == nullptr || !field->is_number()) return std::nullopt;
  boost::system::error_code failure;
  const auto value = field->to_number<Number>(failure);
  if (failure) return std::nullopt;
  return value;
}

/// Only numbers and short texts: the agent decides what stands here.
json::object flatUsage(const json::object& usage) {
  json::object flat;
  for (const auto& item : usage) {
    if (flat.size() >= kMaxUsage) break;
    if (item.value().is_number() && item.key().size() < 100) flat[item.key()] = item.value();
  }
  return flat;
}

}  // namespace

std::optional<LastWords> parseLastWords(std::string_view line) {
  auto value = base::parseJson(line);
  const auto* object = value ? value->if_object() : nullptr;
  if (object == nullptr || text(*object, "type") != "result") return std::nullopt;
  const auto* is_error = object->if_contains("is_error");
  if (is_error == nullptr || !is_error->is_bool()) return std::nullopt;
  LastWords words;
  words.is_error = is_error->as_bool();
  words.subtype = text(*object, "subtype");
  words.terminal_reason = text(*object, "terminal_reason");
  words.result = text(*object, "result");
  words.api_error_status = number<std::int64_t>(*object, "api_error_status");
  words.api_error = text(*object, "api_error");
  words.session_id = text(*object, "session_id");
  words.num_turns = number<std::int64_t>(*object, "num_turns");
  words.total_cost_usd = number<double>(*object, "total_cost_usd");
  if (const auto* usage = object->if_contains("usage"); usage && usage->is_object())
    words.usage = flatUsage(usage->as_object());
  if (const auto* denials = object->if_contains("permission_denials");
      denials && denials->is_array())
    words.permission_denials = denials->as_array().size();
  return words;
}

bool looksLikeStreamJson(std::string_view line) {
  if (line.starts_with("{\"type\":\"")) return true;
  auto value = base::parseJson(line);
  const auto* object = value ? value->if_object() : nullptr;
  return object != nullptr && object->contains("session_id") && !text(*object, "type").empty();
}

json::object claimOf(const LastWords& words) {
  json::object claim{{"is_error", words.is_error},
                     {"subtype", words.subtype},
                     {"result", words.result},
                     {"usage", words.usage}};
  if (!words.terminal_reason.empty()) claim["terminal_reason"] = words.terminal_reason;
  if (words.api_error_status) claim["api_error_status"] = *words.api_error_status;
  if (!words.api_error.empty()) claim["api_error"] = words.api_error;
  if (!words.session_id.empty()) claim["session_id"] = words.session_id;
  if (words.num_turns) claim["num_turns"] = *words.num_turns;
  if (words.total_cost_usd) claim["total_cost_usd"] = *words.total_cost_usd;
  if (words.permission_denials > 0) claim["permission_denials"] = words.permission_denials;
  return claim;
}

}  // namespace warder::report
