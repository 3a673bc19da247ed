// readProvider: YAML to a Provider.
#include <algorithm>
#include <charconv>
#include <utility>

#include "secrets/http/head.h"
#include "secrets/models/provider.h"
#include "supervisor/base/yaml_fields.h"

namespace warder::models {

using base::Error;
using base::Kind;
using base::Result;
using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

namespace {

constexpr std::uint64_t kLeastRandom = 12;  // characters of a placeholder that nobody can guess
constexpr std::uint64_t kMostRandom = 512;
constexpr std::uint64_t kMostTokens = 1'000'000'000;

constexpr std::pair<std::string_view, std::string_view> kAlphabets[] = {
    {"base64url", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"},
    {"base64", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"},
    {"base62", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"},
    {"base32", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
    {"hex", "0123456789abcdef"}};

constexpr std::pair<std::string_view, ErrorForm> kErrorForms[] = {
    {"plain", ErrorForm::Plain},
    {"anthropic", ErrorForm::Anthropic},
    {"openai", ErrorForm::Openai},
    {"google", ErrorForm::Google},
    {"aws", ErrorForm::Aws}};

/// Takes the word of `key` and looks it up; a fault where it is none of the table's.
template <class Table>
auto wordOf(YamlFields& fields, const std::string& key, const Table& table, YamlFaults& faults)
    -> decltype(table[0].second) {
  const auto word = fields.needText(key);
  if (!word) return {};
  for (const auto& [name, value] : table)
    if (name == *word) return value;
  faults.add(*fields.find(key), fields.name(key) + " " + base::inQuotes(*word) + " is unknown");
  return {};
}

template <class Read>
auto readEach(const YamlNode* list, YamlFaults& faults, Read read) {
  std::vector<decltype(read(*list, faults))> all;
  if (list == nullptr) return all;
  if (list->kind != YamlNode::Kind::Sequence) faults.add(*list, "a list was expected here");
  for (const auto& item : list->items) all.push_back(read(*item, faults));
  return all;
}

std::optional<double> readRate(YamlFields& fields, const std::string& key, YamlFaults& faults) {
  const YamlNode* node = fields.find(key);
  if (node == nullptr) return std::nullopt;
  const auto word = base::yamlWord(*node, fields.name(key), faults);
  if (!word) return std::nullopt;
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
  (void)fields.need("input");
  (void)fields.need("output");
  Rates rates;
  rates.input = readRate(fields, "input", faults).value_or(0);
  rates.output = readRate(fields, "output", faults).value_or(0);
  rates.cache_read = readRate(fields, "cache_read", faults).value_or(rates.input);
  rates.cache_write = readRate(fields, "cache_write", faults).value_or(rates.input);
  rates.cache_write_1h = readRate(fields, "cache_write_1h", faults).value_or(rates.cache_write);
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
    price.long_above_tokens = longer.integer("above_tokens", {1, kMostTokens}).value_or(0);
    price.long_rates = readRates(longer, faults);
    longer.finish();
  }
  fields.finish();
  return price;
}

std::string readPattern(YamlFields& fields, YamlFaults& faults) {
  const std::string path = fields.needText("path").value_or("/");
  if (const std::string why = whyNoPattern(path); !why.empty())
    faults.add(*fields.find("path"), fields.name("path") + " " + base::inQuotes(path) + " " + why);
  return path;
}

Route readRoute(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "routes[]", faults);
  Route route;
  route.method = fields.needText("method").value_or("");
  route.path = readPattern(fields, faults);
  route.bills = fields.boolean("bills").value_or(false);
  if (const auto word = fields.text("dialect")) {
    const auto dialect = dialectNamed(*word);
    if (!dialect) faults.add(node, "routes[].dialect " + base::inQuotes(*word) + " is unknown");
    route.dialect = dialect.value_or(Dialect::None);
  }
  fields.finish();
  return route;
}

Denied readDenied(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "denied[]", faults);
  Denied denied;
  denied.host = fields.needText("host").value_or("");
  if (std::count(denied.host.begin(), denied.host.end(), '*') > 1)
    faults.add(node, "denied[].host has more than one *");
  denied.method = fields.text("method").value_or("*");
  denied.path = readPattern(fields, faults);
  fields.finish();
  return denied;
}

http::FixedHeader readExtra(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "extra[]", faults);
  http::FixedHeader header;
  header.name = fields.needText("name").value_or("");
  header.value = fields.needText("value").value_or("");
  header.joins = fields.boolean("joins").value_or(false);
  fields.finish();
  return header;
}

http::CredentialKind readInject(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "inject", faults);
  http::CredentialKind credential;
  const std::string word = fields.needText("kind").value_or("header");
  const auto kind = http::credentialKindNamed(word);
  if (!kind) faults.add(node, "inject.kind " + base::inQuotes(word) + " is unknown");
  credential.kind = kind.value_or(credential.kind);
  credential.name = fields.text("name").value_or("");
  credential.user = fields.text("user").value_or("");
  credential.service = fields.text("service").value_or("");
  credential.region = fields.text("region").value_or("");
  credential.extra = readEach(fields.find("extra"), faults, readExtra);
  if (const std::string why = http::whyNoKind(credential); !why.empty())
    faults.add(node, "inject " + why);
  fields.finish();
  return credential;
}

SecretKind readKind(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "kinds[]", faults);
  SecretKind kind;
  kind.name = fields.needText("name").value_or("");
  kind.prefixes = fields.texts("prefixes").value_or(kind.prefixes);
  kind.refused = fields.text("refused").value_or("");
  if (const YamlNode* inject = fields.find("inject"))
    kind.credential = readInject(*inject, faults);
  else if (kind.refused.empty())
    faults.add(node, "kinds[] needs inject or refused");
  fields.finish();
  return kind;
}

PlaceholderShape readShape(const YamlNode& node, YamlFaults& faults) {
  constexpr std::pair<std::string_view, PlaceholderShape::Form> kForms[] = {
      {"random", PlaceholderShape::Form::Random}, {"jwt", PlaceholderShape::Form::Jwt}};
  YamlFields fields(node, "placeholder", faults);
  PlaceholderShape shape;
  if (fields.find("form") != nullptr) shape.form = wordOf(fields, "form", kForms, faults);
  if (shape.form == PlaceholderShape::Form::Random) {
    shape.prefix = fields.text("prefix").value_or("");
    shape.suffix = fields.text("suffix").value_or("");
    shape.random = fields.integer("random", {kLeastRandom, kMostRandom}).value_or(kLeastRandom);
    shape.alphabet = wordOf(fields, "alphabet", kAlphabets, faults);
  }
  fields.finish();
  return shape;
}

Host readHost(const YamlNode& node, YamlFaults& faults) {
  YamlFields fields(node, "hosts[]", faults);
  Host host;
  host.base_url = fields.needText("base_url").value_or("");
  host.kinds = readEach(fields.need("kinds"), faults, readKind);
  host.routes = readEach(fields.need("routes"), faults, readRoute);
  fields.finish();
  return host;
}

/// What headers and parameters a client may name itself by.
void readCarriers(YamlFields& parent, Provider& provider, YamlFaults& faults) {
  const YamlNode* node = parent.need("carriers");
  if (node == nullptr) return;
  YamlFields fields(*node, "carriers", faults);
  if (fields.need("headers") != nullptr)
    provider.credential_headers = fields.texts("headers").value_or(provider.credential_headers);
  provider.credential_parameters =
      fields.texts("parameters").value_or(provider.credential_parameters);
  for (const auto* names : {&provider.credential_headers, &provider.credential_parameters})
    for (const std::string& name : *names)
      if (http::lowerCase(name) != name) faults.add(*node, "carriers are written in lower case");
  fields.finish();
}

Provider readAll(const YamlNode& tree, YamlFaults& faults) {
  YamlFields fields(tree, "", faults);
  fields.needVersion();
  Provider provider;
  provider.name = fields.needText("name").value_or("");
  provider.base_url = fields.text("base_url").value_or("");
  readCarriers(fields, provider, faults);
  if (const YamlNode* shape = fields.need("placeholder"))
    provider.placeholder = readShape(*shape, faults);
  if (const YamlNode* shape = fields.find("placeholder_secret"))
    provider.placeholder_secret = readShape(*shape, faults);
  provider.error_form = wordOf(fields, "error_form", kErrorForms, faults);
  provider.kinds = readEach(fields.find("kinds"), faults, readKind);
  provider.routes = readEach(fields.need("routes"), faults, readRoute);
  provider.hosts = readEach(fields.find("hosts"), faults, readHost);
  provider.denied = readEach(fields.find("denied"), faults, readDenied);
  provider.prices = readEach(fields.find("prices"), faults, readPrice);
  fields.finish();
  return provider;
}

}  // namespace

std::string_view nameOf(ErrorForm form) {
  for (const auto& [name, known] : kErrorForms)
    if (known == form) return name;
  return "plain";
}

Result<Provider> readProvider(std::string_view file, std::string_view text) {
  YamlFaults faults{std::string(file)};
  Provider provider;
  if (const auto tree = base::parseYaml(text, faults)) provider = readAll(*tree, faults);
  if (faults.empty()) return provider;
  std::string sentence;
  for (const auto& fault : faults.list())
    sentence += (sentence.empty() ? "" : "; ") + base::render(fault);
  return Error{Kind::Config, sentence};
}

}  // namespace warder::models
