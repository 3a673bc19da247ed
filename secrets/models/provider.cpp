#include "secrets/models/provider.h"

#include <algorithm>
#include <span>

#include "supervisor/base/embedded.h"
#include "supervisor/base/fault.h"

namespace warder::models {

std::span<const base::EmbeddedFile> provider_data();  // generated from providers/*.yaml

using base::Error;
using base::Kind;
using base::Result;

namespace {

bool matches(std::string_view pattern, std::string_view model) {
  if (!pattern.ends_with('*')) return pattern == model;
  return model.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

Result<std::vector<Provider>> allProviders() {
  std::vector<Provider> all;
  for (const auto& file : provider_data()) {
    auto provider = readProvider(file.name, file.text);
    if (!provider) return Error{Kind::Internal, provider.error().doing};
    all.push_back(std::move(*provider));
  }
  return all;
}

Result<Provider> providerNamed(std::string_view name) {
  auto all = allProviders();
  if (!all) return all.error();
  std::vector<std::string> known;
  for (Provider& provider : *all) {
    if (provider.name == name) return std::move(provider);
    known.push_back(provider.name);
  }
  return Error{Kind::Config, "there is no provider named " + base::inQuotes(name) +
                                 base::suggestion(name, known)};
}

const SecretKind* kindOf(std::span<const SecretKind> kinds, std::string_view secret) {
  const auto takes = [secret](const SecretKind& kind) {
    return kind.prefixes.empty() ||
           std::any_of(kind.prefixes.begin(), kind.prefixes.end(),
                       [secret](const std::string& prefix) { return secret.starts_with(prefix); });
  };
  const auto found = std::find_if(kinds.begin(), kinds.end(), takes);
  return found == kinds.end() ? nullptr : &*found;
}

std::optional<double> costOf(const Provider& provider, std::string_view model, const Usage& usage) {
  for (const Price& price : provider.prices) {
    const bool named = std::any_of(price.models.begin(), price.models.end(),
                                   [&](const auto& pattern) { return matches(pattern, model); });
    if (!named) continue;
    const std::uint64_t prompt = usage.input + usage.cache_read + usage.cache_write;
    const bool is_long = price.long_above_tokens > 0 && prompt > price.long_above_tokens;
    const Rates& rates = is_long ? price.long_rates : price.rates;
    const std::uint64_t hour = std::min(usage.cache_write_1h, usage.cache_write);
    const double total = static_cast<double>(usage.input) * rates.input +
                         static_cast<double>(usage.output) * rates.output +
                         static_cast<double>(usage.cache_read) * rates.cache_read +
                         static_cast<double>(usage.cache_write - hour) * rates.cache_write +
                         static_cast<double>(hour) * rates.cache_write_1h;
    return total / 1e6;
  }
  return std::nullopt;
}

}  // namespace warder::models
