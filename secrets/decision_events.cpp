#include "secrets/decision_events.h"

namespace warder::secrets {

namespace {

constexpr std::size_t kLongestPath = 256;

base::json::object describe(Shared& shared, const Asked& asked, const Verdict& verdict) {
  std::string path = asked.target.path;
  shared.gate.clean(path);  // before it is cut
  std::string grant;
  if (verdict.lease) grant = verdict.lease->grant->name;
  if (asked.door) grant = asked.door->grant->name;
  return {{"grant", grant},
          {"method", asked.head.method},
          {"host", asked.to.host},
          {"port", asked.to.port},
          {"path", path.substr(0, kLongestPath)}};
}

}  // namespace

void emitDenied(Shared& shared, const Asked& asked, const Verdict& verdict,
                const Refusal& refusal) {
  base::json::object data = describe(shared, asked, verdict);
  data["why"] = refusal.why;
  data["rule"] = refusal.rule;
  data["reason"] = refusal.sentence;
  shared.emit({"broker.denied", std::move(data)});
}

void emitVerdict(Shared& shared, const Asked& asked, const Verdict& verdict) {
  if (verdict.foreign_credential)
    shared.emit({"broker.foreign_credential", describe(shared, asked, verdict)});
  if (!verdict.incident.empty()) {
    base::json::object data = describe(shared, asked, verdict);
    data["grant"] = verdict.incident;
    shared.emit({"broker.incident", std::move(data)});
  }
  if (verdict.refusal) emitDenied(shared, asked, verdict, *verdict.refusal);
}

void emitMarks(Shared& shared, const Lease& lease) {
  for (const models::BudgetMark& mark : lease.budget->takeMarks())
    shared.emit({"broker.budget_mark",
                 {{"grant", lease.grant->name},
                  {"cap", models::nameOf(mark.cap)},
                  {"percent", mark.percent},
                  {"used", mark.used},
                  {"limit", mark.limit}}});
}

}  // namespace warder::secrets
