// Policy files and inline policies to an immutable Policy.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "policies/policy.h"
#include "supervisor/base/fault.h"
#include "supervisor/base/yaml_document.h"

namespace warder::policies {

/// The policy is usable only when there are no faults.
struct PolicyReading {
  Policy policy;
  base::Faults faults;
};

/// A policy file's text. `file` names it in faults and rules, `name` is the policy's name.
PolicyReading readPolicyText(std::string_view text, const std::string& file,
                             const std::string& name);
/// A policy file on this machine, at most 1 MiB. `where` is the place that asks for it.
PolicyReading readPolicyFile(const std::string& path, const std::string& where);
/// The mapping that stands under `policy:` in a job: a policy file without `version`.
PolicyReading readInlinePolicy(const base::YamlNode& node, const std::string& file);
/// One that is compiled in. An unknown name is a fault at `where` with the nearest known one.
PolicyReading readShippedPolicy(const std::string& name, const std::string& where);

/// Names of the policies that are compiled in, sorted.
std::vector<std::string> shippedPolicyNames();

/// JSON Schema (2020-12) of a policy file.
std::string_view policySchema();

}  // namespace warder::policies
