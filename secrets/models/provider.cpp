#include "secrets/models/provider.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "supervisor/base/embedded.h"
#include "supervisor/base/yaml_fields.h"

namespace warder::models {

std::span<const base::EmbeddedFile> provider_data();  // generated from providers/*.yaml

using base::Error;
using base::Kind;
using base::Result;
using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

namespace {

double readRate(YamlFields& fields, const std::string& key, YamlFaults& faults) {
  const YamlNode* node = fields.need(key);
  if (node == nullptr) return 0;
  const auto word = base::yamlWord(*node, fields.name(key), faults);
  if (!word) return 0;
  double value = 0;
  const char* end = word->data() + word->size();
  const auto [rest, failure] = std::from_chars(word->data(), end, value, std::chars_format::fixed);
  if (failure != std::errc{} || rest != end || !(value >= 0))
    faults.add(*node, fields.name(key) + " is no price");
  return value;
}

Rates readRates(YamlFields& parent, YamlFaults& faults) {
  const YamlNode* node = parent.need("rates");
  if (node == nullptr) return {};
  YamlFields fields(*node, "rates", faults);
  Rates rates;
  rates.input = readRate(fields, "input", faults);
  rates.output = readRate(fields, "output", faults);
  rates.cache_read = readRate(fields, "cache_read", faults);
  rates.cache_write = readRate(fields, "cache_write", faults);
  rates.cache_write_1h = readRate(fields, "cache_write_1h", faults);
  fields.finish();
  return rates;
}

Price readPrice(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "prices[]", faults);
  Price price;
  if (const YamlNode* models = fields.need("models"))
    price.models = base::yamlTexts(*models, "prices[].models", faults).value_or(price.models);
  price.rates = readRates(fields, faults);
  if (const YamlNode* node_of_long = fields.find("long_prompt")) {
    YamlFields longer(*node_of_long, "long_prompt", faults);
    price.long_above_tokens = longer.integer("above_tokens", {1, 1'000'000'000}).value_or(0);
    price.long_rates = readRates(longer, faults);
    longer.finish();
  }
  fields.finish();
  return price;
}

Route readRoute(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "routes[]", faults);
  Route route;
  route.method = fields.needText("method").value_or("");
  route.path = fields.needText("path").value_or("");
  route.bills = fields.boolean("bills").value_or(false);
  fields.finish();
  return route;
}

NotKey readNotKey(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "not_keys[]", faults);
  NotKey kind{fields.needText("prefix").value_or(""), fields.needText("sentence").value_or("")};
  fields.finish();
  return kind;
}

template <class Read>
auto readEach(YamlFields& fields, const std::string& key, YamlFaults& faults, Read read) {
  std::vector<decltype(read(fields.node(), faults))> all;
  if (const YamlNode* list = fields.need(key))
    for (const auto& item : list->items) all.push_back(read(*item, faults));
  return all;
}

bool matches(std::string_view pattern, std::string_view model) {
  if (!pattern.ends_with('*')) return pattern == model;
  return model.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

Result<Provider> readProvider(std::string_view file, std::string_view text) {
  YamlFaults faults{std::string(file)};
  Provider provider;
  if (const auto tree = base::parseYaml(text, faults)) {
    YamlFields fields(*tree, "", faults);
    fields.needVersion();
    provider.name = fields.needText("name").value_or("");
    provider.base_url = fields.needText("base_url").value_or("");
    provider.inject_header = fields.needText("inject_header").value_or("");
    provider.credential_headers =
        fields.texts("credential_headers").value_or(std::vector<std::string>{});
    provider.placeholder_prefix = fields.needText("placeholder_prefix").value_or("");
    provider.not_keys = readEach(fields, "not_keys", faults, readNotKey);
    provider.routes = readEach(fields, "routes", faults, readRoute);
    provider.prices = readEach(fields, "prices", faults, readPrice);
    fields.finish();
  }
  if (faults.empty()) return provider;
  std::string sentence;
  for (const auto& fault : faults.list())
    sentence += (sentence.empty() ? "" : "; ") + base::render(fault);
  return Error{Kind::Config, sentence};
}

Result<Provider> providerNamed(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& file : provider_data()) {
    auto provider = readProvider(file.name, file.text);
    if (!provider) return Error{Kind::Internal, provider.error().doing};
    if (provider->name == name) return provider;
    known.push_back(provider->name);
  }
  return Error{Kind::Config, "there is no provider named " + base::inQuotes(name) +
                                 base::suggestion(name, known)};
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
