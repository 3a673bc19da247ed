#include "secrets/grant_terms.h"

#include <algorithm>

#include "secrets/models/route.h"

namespace warder::secrets {

namespace json = base::json;

namespace {

/// An absent limit is null.
template <class T>
json::value orNull(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

template <class T>
std::optional<T> optionalAt(const json::object& object, std::string_view key) {
  const json::value& value = object.at(key);
  if (value.is_null()) return std::nullopt;
  return value.to_number<T>();
}

json::object toJson(const models::BudgetLimits& limits) {
  return {{"usd", orNull(limits.usd)},
          {"tokens", orNull(limits.tokens)},
          {"requests", orNull(limits.requests)},
          {"concurrency", orNull(limits.concurrency)},
          {"warn_at", json::value_from(limits.warn_at)}};
}

models::BudgetLimits limitsFromJson(const json::object& object) {
  models::BudgetLimits limits;
  limits.usd = optionalAt<double>(object, "usd");
  limits.tokens = optionalAt<std::uint64_t>(object, "tokens");
  limits.requests = optionalAt<std::uint64_t>(object, "requests");
  limits.concurrency = optionalAt<std::uint64_t>(object, "concurrency");
  limits.warn_at = json::value_to<std::vector<unsigned>>(object.at("warn_at"));
  return limits;
}

std::vector<std::string> textsAt(const json::object& object, std::string_view key) {
  return json::value_to<std::vector<std::string>>(object.at(key));
}

}  // namespace

bool allows(const GrantTerms& terms, std::string_view method, std::string_view path) {
  const auto lets = [&](const AllowTerm& term) {
    const auto& methods = term.methods;
    if (!methods.empty() && std::find(methods.begin(), methods.end(), method) == methods.end())
      return false;
    return std::any_of(term.paths.begin(), term.paths.end(), [path](const std::string& pattern) {
      const models::Route route{"*", pattern, false, models::Dialect::None};
      return models::routeOf({&route, 1}, "*", path).route != nullptr;
    });
  };
  return terms.allow.empty() || std::any_of(terms.allow.begin(), terms.allow.end(), lets);
}

json::object toJson(const GrantTerms& terms) {
  json::array allow;
  for (const AllowTerm& term : terms.allow)
    allow.push_back(
        {{"methods", json::value_from(term.methods)}, {"paths", json::value_from(term.paths)}});
  json::object object = {{"budget", toJson(terms.budget)},
                         {"models", json::value_from(terms.models)},
                         {"provider_fetch", terms.provider_fetch},
                         {"allow", std::move(allow)},
                         {"expires_after_ms", nullptr},
                         {"expires_at", nullptr}};
  if (terms.expires_after) object["expires_after_ms"] = terms.expires_after->count();
  if (terms.expires_at) object["expires_at"] = base::timestamp(*terms.expires_at);
  return object;
}

GrantTerms termsFromJson(const json::object& object) {
  GrantTerms terms;
  terms.budget = limitsFromJson(object.at("budget").as_object());
  terms.models = textsAt(object, "models");
  terms.provider_fetch = object.at("provider_fetch").as_bool();
  for (const json::value& term : object.at("allow").as_array())
    terms.allow.push_back(
        {textsAt(term.as_object(), "methods"), textsAt(term.as_object(), "paths")});
  if (const auto after = optionalAt<std::int64_t>(object, "expires_after_ms"))
    terms.expires_after = std::chrono::milliseconds(*after);
  if (const json::value& at = object.at("expires_at"); at.is_string())
    terms.expires_at = base::parseTimestamp(std::string_view(at.get_string()));
  return terms;
}

}  // namespace warder::secrets
