// Which requests a provider takes a secret for, and which ones hand out new credentials. Pure.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/models/dialect.h"

namespace warder::models {

/// Patterns of paths: segments of literals, each with at most one `*` (any characters of the
/// segment, at least one) or `{model}` (the same, and it names the model); `**` as the last segment
/// stands for any number of segments, also none.
struct Route {
  std::string method;  // "*": any
  std::string path;
  bool bills = false;  // its answer carries usage that costs money
  Dialect dialect = Dialect::None;
};

/// Why this is no pattern as above; empty when it is one. To go after the pattern in a sentence.
std::string whyNoPattern(std::string_view pattern);

struct Routed {
  const Route* route = nullptr;  // null: none for this method and path
  bool known_path = false;       // a route has this path, maybe with another method
  std::string model;             // where the path names it, percent-decoded
};
/// `path` is plain (target.h), without query.
Routed routeOf(std::span<const Route> routes, std::string_view method, std::string_view path);

/// An endpoint that hands out credentials, or manages them.
struct Denied {
  std::string host;    // canonical; one * stands for any characters but the dot
  std::string method;  // "*": any
  std::string path;    // as a route's
};

/// Is this one of them? More is recognised than a route would be: in any case, with a final slash,
/// percent-encoded, with parameters in a segment (";x"). `denied` must live as long as the result;
/// null: none of them.
const Denied* credentialEndpoint(std::span<const Denied> denied, std::string_view host,
                                 std::string_view method, std::string_view path);

}  // namespace warder::models
