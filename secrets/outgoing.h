// A request as it leaves: what of the agent's head goes on, and what we put beside it. Pure.
#pragma once
#include <string>
#include <string_view>

#include "secrets/decision.h"

namespace warder::secrets {

struct Outgoing {
  std::string method;
  std::string path;
  std::string query;          // with its ?, or empty; without credentials where a secret is lent
  std::string host;           // as the Host header says it
  http::HeaderFields fields;  // with framing, without Host and without any secret
};

/// Gone are hop-by-hop headers, where a secret is lent every credential of the agent's, and what
/// could make a server see another method, path or header than the one decided on. Where a secret
/// is lent, the encoding asked for is identity, and the fixed headers of its kind are added.
Outgoing outgoing(const Asked& asked, const Verdict& verdict);

/// "METHOD /path?query": a query that carries the secret goes behind it.
std::string requestLineStart(const Outgoing& request);
/// " HTTP/1.1", Host and the fields; up to but without injected lines and the blank line.
std::string restOfHead(const Outgoing& request);

/// The headers of an upstream's answer that go on: without hop-by-hop ones and framing.
http::HeaderFields forwardedFields(const http::HeaderFields& fields);

}  // namespace warder::secrets
