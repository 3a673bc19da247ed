// What a grant is narrowed to, as the job says it. Plain data; made by init, told to the broker.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "secrets/models/budget.h"
#include "supervisor/base/event.h"

namespace warder::secrets {

/// Requests that the secret is lent for, of those that the provider's routes have.
struct AllowTerm {
  std::vector<std::string> methods;  // upper case; empty: any
  std::vector<std::string> paths;    // patterns (models::Route), without the upstream's base path
};

/// What is empty or absent narrows nothing.
struct GrantTerms {
  models::BudgetLimits budget;
  std::vector<std::string> models;  // * stands for any characters
  /// The provider may fetch and run tools of its own for the agent.
  bool provider_fetch = false;
  std::vector<AllowTerm> allow;
  std::optional<std::chrono::milliseconds> expires_after;  // from the agent's start
  std::optional<std::chrono::system_clock::time_point> expires_at;
};

/// Is the secret lent for this request, if it is one of the provider's? `path` is plain, without
/// the upstream's base path.
bool allows(const GrantTerms& terms, std::string_view method, std::string_view path);

base::json::object toJson(const GrantTerms& terms);
/// Throws boost::system::system_error when `object` is none.
GrantTerms termsFromJson(const base::json::object& object);

}  // namespace warder::secrets
