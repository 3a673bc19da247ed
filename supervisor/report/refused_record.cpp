#include "supervisor/report/refused_record.h"

#include <algorithm>

#include "supervisor/report/fold.h"
#include "supervisor/report/record.h"

namespace warder::report {

namespace json = boost::json;
using base::Durability;

json::object describeRefusal(const Refusal& refusal) {
  json::array told;
  for (const auto& fault : refusal.faults)
    if (told.size() < kMostRefusalFaults)
      told.push_back({{"where", fault.where}, {"sentence", fault.sentence}});
  std::string sentence =
      refusal.faults.empty() ? "no reason was given" : base::render(refusal.faults.front());
  if (refusal.faults.size() > 1)
    sentence += "; and " + std::to_string(refusal.faults.size() - 1) + " more";
  return {{"step", refusal.step},
          {"sentence", std::move(sentence)},
          {"errno", 0},
          {"faults", std::move(told)},
          {"faults_total", refusal.faults.size()}};
}

base::Status recordRefusal(const std::string& run_dir, json::object start, const Refusal& refusal) {
  auto writer = openRecord(run_dir);
  if (!writer) return writer.error();
  Fold fold;
  for (base::Event event :
       {base::Event{"run.started", std::move(start), Durability::Outcome},
        base::Event{"setup.failed", describeRefusal(refusal), Durability::Outcome}}) {
    fold.add(event);
    if (auto told = append(*writer, std::move(event)); !told) return told;
  }
  return finishRecord(*writer, run_dir, fold.outcomeJson());
}

}  // namespace warder::report
