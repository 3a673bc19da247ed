// One rule of a policy: the short form (text) and the long one (a mapping).
#pragma once
#include <string>

#include "policies/policy.h"
#include "supervisor/base/yaml_document.h"

namespace warder::policies {

enum class RuleList { Allow, Deny };

struct RulePlace {
  std::string path;  // "allow[3]", for faults
  RuleList list = RuleList::Allow;
};

/// The rule is usable only when no fault was left.
Rule readRule(const base::YamlNode& node, const RulePlace& place, base::YamlFaults& faults);

}  // namespace warder::policies
