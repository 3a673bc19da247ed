#include "collector/report_rules.h"

#include "collector/sound_json.h"
#include "supervisor/journal/clean_text.h"

namespace warder::collector {

namespace {

constexpr std::string_view kSchema = "warder.run-report/1";
constexpr std::size_t kMaxNamed = 64;  // bytes of a class that a sentence repeats

const json::object* objectOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}

std::string_view textOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_string();
}

bool isCount(const json::value* value) {
  if (value == nullptr) return false;
  if (value->is_int64())
    return value->get_int64() >= 0 && static_cast<double>(value->get_int64()) <= kMaxNumber;
  return value->is_uint64() && static_cast<double>(value->get_uint64()) <= kMaxNumber;
}

std::string named(std::string_view text) {
  return std::string(journal::cutUtf8(text, kMaxNamed));
}

}  // namespace

std::string faultOfReport(const json::object& report) {
  if (textOf(report, "schema") != kSchema)
    return "this is no run report: its schema is not " + std::string(kSchema);
  const json::object* outcome = objectOf(report, "outcome");
  if (outcome == nullptr || textOf(*outcome, "class").empty() || textOf(*outcome, "reason").empty())
    return "this is no run report: it has no outcome with class and reason";
  const json::value* artifacts = report.if_contains("artifacts");
  if (artifacts == nullptr || !artifacts->is_array())
    return "this is no run report: it has no list of artifacts";
  const json::object* events = objectOf(report, "events");
  if (events == nullptr || !isCount(events->if_contains("last_seq")))
    return "this is no run report: its events.last_seq is no number of a line";
  return {};
}

std::uint64_t lastSeqOf(const json::object& report) {
  const json::object* events = objectOf(report, "events");
  if (events == nullptr) return 0;
  return static_cast<std::uint64_t>(soundNumber(events->if_contains("last_seq")));
}

std::string contradictionOf(const json::object& summary, std::uint64_t acked_seq,
                            const json::object& report) {
  const std::uint64_t last = lastSeqOf(report);
  const json::value* finished = summary.if_contains("finished_seq");
  if (finished == nullptr) {
    if (last == 0 || last > acked_seq) return {};
    return "the report says that the run ended with line " + std::to_string(last) +
           ", but that line of its journal is not run.finished";
  }
  const auto end = static_cast<std::uint64_t>(soundNumber(finished));
  if (last != end)
    return "the report says that the run ended with line " + std::to_string(last) +
           ", its journal ends with line " + std::to_string(end);
  const json::object* kept = objectOf(summary, "outcome");
  const json::object* told = objectOf(report, "outcome");
  const std::string_view journal_class = kept != nullptr ? textOf(*kept, "class") : "";
  const std::string_view report_class = told != nullptr ? textOf(*told, "class") : "";
  if (journal_class == report_class) return {};
  if (journal_class.empty()) return "the run.finished of the journal names no outcome class";
  return "the report says that the run ended as \"" + named(report_class) +
         "\", its journal says \"" + named(journal_class) + "\"";
}

}  // namespace warder::collector
