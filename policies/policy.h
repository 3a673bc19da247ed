// What is allowed. A Policy is immutable once compiled; deciding is a pure function.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warder::policies {

/// What a rule is about. Intercept: HTTP in TLS that the broker ends, each request decided. Plain:
/// HTTP without TLS, each request decided. Tunnel: TLS that is passed on unread after its SNI was
/// compared with the host. Tcp: any bytes. What the last two carry is not inspected.
enum class Flow { Intercept, Plain, Tunnel, Tcp };

/// "intercept", "plain", "tunnel", "tcp".
std::string_view nameOf(Flow flow);

/// One rule of `allow:` or `deny:`. Empty lists: any method, any path. `host` is canonical (lower
/// case, no final dot) and exact, or an IP literal, or a pattern: "*.example.org" for names with
/// one label more, "**.example.org" for all names below it.
struct Rule {
  std::string host;
  std::uint16_t port = 443;
  std::vector<std::string> methods;
  std::vector<std::string> paths;  // globs: * within a segment, ** across segments
  std::string where;               // "claude-code:4" or "/path/job.yaml:17", for explanations
  Flow flow = Flow::Intercept;     // of allow rules; a deny rule denies whatever flows
};

struct Policy {
  std::string name;
  std::vector<Rule> allow;
  std::vector<Rule> deny;  // deny wins over allow, whatever the order
  /// A run may start where a control that this policy relies on is not to be had; the report then
  /// names it.
  bool allow_degraded = false;
};

/// How a request reached the broker. BaseUrl: at a door of its own, which knows its upstream's
/// scheme from the job; rules of both kinds of HTTP count.
enum class Carrier { BaseUrl, Tls, Plain };

/// Who is asked for what: the identity that will be dialled, not what a header claims.
struct Request {
  std::string host;  // canonical
  std::uint16_t port = 443;
  std::string method;
  std::string path;  // without query
  Carrier carrier = Carrier::BaseUrl;
};

struct Decision {
  bool allowed = false;
  std::string rule;    // `where` of the deciding rule; empty when no rule matched
  std::string reason;  // one sentence that a person and a model can read
};

/// Each HTTP request: deny rules first, then allow rules of flow Intercept or Plain; no match is a
/// denial. An empty policy allows nothing.
Decision decide(const Policy& policy, const Request& request);

/// What may flow to a destination, before a byte of it was seen. None of them: the connection is
/// refused. `tcp` is never together with another one, `tunnel` never with `http_over_tls`.
struct Access {
  bool http_over_tls = false;  // the broker ends TLS; then decide() for each request
  bool plain_http = false;     // decide() for each request
  bool tunnel = false;         // TLS passed on unread, SNI must be the host
  bool tcp = false;            // any bytes
  std::string rule;            // `where` of the deciding rule; empty when no rule matched
  std::string reason;          // one sentence that a person and a model can read

  bool any() const { return http_over_tls || plain_http || tunnel || tcp; }
};

/// A deny rule without methods and paths takes everything away; one with them cannot be upheld in
/// bytes that are not read, so it takes tunnel and tcp away. Where allow rules contradict each
/// other, the one with the most specific host counts: the exact name, then the longest pattern.
Access accessTo(const Policy& policy, std::string_view host, std::uint16_t port);

/// May the agent learn an address for this name: does something flow to it on any port? Never for
/// an IP literal, which needs no resolving.
bool mayResolve(const Policy& policy, std::string_view host);

/// Does some allow rule name this host (exactly, or as an IP literal) and port? Only then may it
/// resolve to a private, link-local or loopback address.
bool namesHost(const Policy& policy, std::string_view host, std::uint16_t port);

/// Lower case, one final dot removed, LDH labels or an IP literal. Empty string when it is no
/// valid host name (NUL, control, %, underscore at the wrong place, label over 63, over 253).
std::string canonicalHost(std::string_view name);

}  // namespace warder::policies
