#include "policies/contradictions.h"

#include <map>
#include <utility>

#include "supervisor/base/yaml_document.h"

namespace warder::policies {
namespace {

bool isUnread(Flow flow) {
  return flow == Flow::Tunnel || flow == Flow::Tcp;
}

/// Plain HTTP and TLS are told apart by their first bytes, so those two go together.
bool contradict(Flow one, Flow other) {
  if (one == other) return false;
  if (one == Flow::Tcp || other == Flow::Tcp) return true;
  return one != Flow::Plain && other != Flow::Plain;
}

std::string spelled(const Rule& rule) {
  switch (rule.flow) {
    case Flow::Intercept:
      return "tls: intercept";
    case Flow::Plain:
      return "tls: off";
    case Flow::Tunnel:
      return "tls: tunnel";
    case Flow::Tcp:
      return "protocol: tcp";
  }
  return "";
}

std::string placeOf(const Rule& rule) {
  return rule.host + " on port " + std::to_string(rule.port);
}

}  // namespace

base::Faults contradictions(const Policy& policy) {
  base::Faults faults;
  std::map<std::pair<std::string, std::uint16_t>, std::vector<const Rule*>> seen;
  for (const Rule& rule : policy.allow) {
    auto& same = seen[{rule.host, rule.port}];
    bool known = false;
    for (const Rule* earlier : same) {
      known = known || earlier->flow == rule.flow;
      if (!contradict(earlier->flow, rule.flow)) continue;
      faults.push_back({rule.where, placeOf(rule) + " has " + spelled(rule) + " here and " +
                                        spelled(*earlier) + " at " + earlier->where +
                                        "; only one of them can hold"});
    }
    if (!known) same.push_back(&rule);
  }
  for (const Rule& rule : policy.deny) {
    if (rule.methods.empty() && rule.paths.empty()) continue;
    for (const Rule* allowed : seen[{rule.host, rule.port}]) {
      if (!isUnread(allowed->flow)) continue;
      faults.push_back({rule.where, placeOf(rule) + " has methods or paths denied here, which " +
                                        spelled(*allowed) + " at " + allowed->where +
                                        " does not read; deny all of it, or write tls: intercept"});
    }
  }
  if (faults.size() > base::kMostFaults) faults.resize(base::kMostFaults);
  return faults;
}

}  // namespace warder::policies
