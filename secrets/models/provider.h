// What the broker knows about a provider: where it is, how it takes a secret, what may be asked,
// what it costs. Data (providers/*.yaml), compiled into the binary.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/http/credential_kind.h"
#include "secrets/models/route.h"
#include "supervisor/base/result.h"

namespace warder::models {

/// US dollars for a million tokens.
struct Rates {
  double input = 0;
  double output = 0;
  double cache_read = 0;      // unless said: as input
  double cache_write = 0;     // kept for five minutes; unless said: as input
  double cache_write_1h = 0;  // kept for an hour; unless said: as cache_write
};

struct Price {
  std::vector<std::string> models;  // exact, or a prefix that ends with *
  Rates rates;
  std::uint64_t long_above_tokens = 0;  // 0: one price whatever the prompt's length
  Rates long_rates;
};

/// How one kind of secret goes into a request, known by how the secret begins.
struct SecretKind {
  std::string name;                   // "api-key", for events and sentences
  std::vector<std::string> prefixes;  // empty: every secret that no earlier kind takes
  http::CredentialKind credential;
  std::string refused;  // why this is no secret to lend, to go after its name; empty: it is one
};

/// What the agent holds instead of a secret: prefix, random characters, suffix. As a key of the
/// provider for whoever only looks at its form; the suffix (or prefix) is one that no key has which
/// the provider issued, so that by no chance it is one.
struct PlaceholderShape {
  /// Jwt: three parts, whose first two decode to JSON and say that it is good until 2100.
  enum class Form { Random, Jwt };
  Form form = Form::Random;
  std::string prefix;
  std::string suffix;
  std::size_t random = 0;  // characters between them, at least 12
  std::string alphabet;    // out of which they are drawn
};

/// How the provider writes its errors, for answers that the broker gives in its place.
enum class ErrorForm { Plain, Anthropic, Openai, Google, Aws };
/// "plain", "anthropic", "openai", "google", "aws".
std::string_view nameOf(ErrorForm form);

/// One more host that takes the same secret, in its own way.
struct Host {
  std::string base_url;
  std::vector<SecretKind> kinds;
  std::vector<Route> routes;
};

struct Provider {
  std::string name;
  std::string base_url;                            // empty: the job says it
  std::vector<std::string> credential_headers;     // lower case; removed from what the agent sends
  std::vector<std::string> credential_parameters;  // of the query, lower case; removed as well
  PlaceholderShape placeholder;
  /// Where a secret has a name and a secret part (AWS): the shape of the latter. Nobody checks what
  /// the agent signs with it; its name is what the broker looks for. No characters: there is none.
  PlaceholderShape placeholder_secret;
  std::vector<SecretKind> kinds;  // empty: the job says how the secret is carried
  std::vector<Route> routes;
  std::vector<Host> hosts;  // beside base_url
  /// Refused to everybody, with and without a secret of ours, unless a rule of the policy names the
  /// host and the path exactly. Only hosts of the provider's own; where a job has another base_url,
  /// ask with the provider's host all the same.
  std::vector<Denied> denied;
  ErrorForm error_form = ErrorForm::Plain;
  std::vector<Price> prices;
};

/// Errors: Config for a name that is not known; the sentence lists the known ones.
base::Result<Provider> providerNamed(std::string_view name);
/// All of them, for what concerns hosts whether a secret is lent for them or not.
base::Result<std::vector<Provider>> allProviders();
/// Reads provider data. Errors: Config with every fault of the text.
base::Result<Provider> readProvider(std::string_view file, std::string_view text);

/// The first kind that takes a secret which begins so; null when none does. Only the beginning is
/// looked at, and nothing of it kept.
const SecretKind* kindOf(std::span<const SecretKind> kinds, std::string_view secret);

struct Usage {
  std::uint64_t input = 0;  // without what was read from or written to the cache
  std::uint64_t output = 0;
  std::uint64_t cache_read = 0;
  std::uint64_t cache_write = 0;     // both lifetimes together
  std::uint64_t cache_write_1h = 0;  // the part of it that is kept for an hour
};

/// US dollars; nullopt when no price is known for the model.
std::optional<double> costOf(const Provider& provider, std::string_view model, const Usage& usage);

}  // namespace warder::models
