// What the broker knows about a provider of models: where it is, what may be asked, what it costs.
// Data (providers/*.yaml), compiled into the binary.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::models {

struct Route {
  std::string method;
  std::string path;
  bool bills = false;  // its answer carries usage that costs money
};

/// US dollars for a million tokens.
struct Rates {
  double input = 0;
  double output = 0;
  double cache_read = 0;
  double cache_write = 0;     // kept for five minutes
  double cache_write_1h = 0;  // kept for an hour
};

struct Price {
  std::vector<std::string> models;  // exact, or a prefix that ends with *
  Rates rates;
  std::uint64_t long_above_tokens = 0;  // 0: one price whatever the prompt's length
  Rates long_rates;
};

/// A kind of secret that looks like a key of this provider but would not work as one.
struct NotKey {
  std::string prefix;
  std::string sentence;
};

struct Provider {
  std::string name;
  std::string base_url;
  std::string inject_header;                    // lower case
  std::vector<std::string> credential_headers;  // lower case; removed from what the agent sends
  std::string placeholder_prefix;
  std::vector<NotKey> not_keys;
  std::vector<Route> routes;
  std::vector<Price> prices;
};

/// Errors: Config for a name that is not known; the sentence lists the known ones.
base::Result<Provider> providerNamed(std::string_view name);
/// Reads provider data. Errors: Config with every fault of the text.
base::Result<Provider> readProvider(std::string_view file, std::string_view text);

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
