// What is allowed. A Policy is immutable once compiled; deciding is a pure function.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warder::policies {

/// One rule of `allow:` or `deny:`. Empty lists: any method, any path. `host` is canonical (lower
/// case, no final dot) and exact, or "*.example.org" for names below it, or an IP literal.
struct Rule {
  std::string host;
  std::uint16_t port = 443;
  std::vector<std::string> methods;
  std::vector<std::string> paths;  // globs: * within a segment, ** across segments
  std::string where;               // "claude-code:4" or "/path/job.yaml:17", for explanations
};

struct Policy {
  std::string name;
  std::vector<Rule> allow;
  std::vector<Rule> deny;  // deny wins over allow, whatever the order
  /// A run may start where a control that this policy relies on is not to be had; the report then
  /// names it.
  bool allow_degraded = false;
};

/// Who is asked for what: the identity that will be dialled, not what a header claims.
struct Request {
  std::string host;  // canonical
  std::uint16_t port = 443;
  std::string method;
  std::string path;  // without query
};

struct Decision {
  bool allowed = false;
  std::string rule;    // `where` of the deciding rule; empty when no rule matched
  std::string reason;  // one sentence that a person and a model can read
};

/// Deny rules first, then allow rules; no match is a denial. An empty policy allows nothing.
Decision decide(const Policy& policy, const Request& request);

/// Does some allow rule name this host (exactly, or as an IP literal) and port? Only then may it
/// resolve to a private, link-local or loopback address.
bool namesHost(const Policy& policy, std::string_view host, std::uint16_t port);

/// Lower case, one final dot removed, LDH labels or an IP literal. Empty string when it is no
/// valid host name (NUL, control, %, underscore at the wrong place, label over 63, over 253).
std::string canonicalHost(std::string_view name);

}  // namespace warder::policies
