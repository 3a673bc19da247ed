// A Policy in words, for `warder check` and for reports.
#pragma once
#include <string>
#include <vector>

#include "policies/policy.h"
#include "supervisor/base/result.h"

namespace warder::policies {

/// "POST api.example.org:443 /v1/messages, /v1/x" ("any method", "any path"); "…, plain HTTP";
/// "TLS tunnel to …" and "any TCP to …", "not inspected".
std::string describe(const Rule& rule);

/// One line a rule, deny rules first as they are asked first, each with where it stands; then one
/// line for each host that stands in both lists. "nothing is allowed" for an empty policy.
std::vector<std::string> explain(const Policy& policy);

/// What becomes of "HOST", "HOST:PORT" (443 where none is given) or "METHOD URL" (http or https):
/// what may flow to the host, the rules that match it, and for a URL what is decided about the
/// request, each with the deciding rule's place. An error where the question is none of these.
base::Result<std::vector<std::string>> explainQuestion(const Policy& policy,
                                                       std::string_view question);

}  // namespace warder::policies
