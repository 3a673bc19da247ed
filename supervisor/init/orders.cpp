#include "supervisor/init/orders.h"

#include "policies/explain.h"
#include "policies/policy_reader.h"
#include "supervisor/init/in_place.h"
#include "supervisor/init/tokens.h"
#include "supervisor/job/executable.h"
#include "supervisor/job/job_files.h"
#include "supervisor/launch/agent_network.h"
#include "supervisor/launch/confine.h"

namespace warder::init {

using base::Error;
using base::Faults;
using base::Kind;
using base::Result;
namespace json = base::json;

namespace {

policies::PolicyReading readPolicy(const job::PolicyAsk& ask, const std::string& job_file) {
  switch (ask.from) {
    case job::PolicyAsk::From::Nothing:
      return {};
    case job::PolicyAsk::From::Shipped:
      return policies::readShippedPolicy(ask.name, ask.where);
    case job::PolicyAsk::From::File:
      return policies::readPolicyFile(ask.name, ask.where);
    case job::PolicyAsk::From::Inline:
      return policies::readInlinePolicy(*ask.node, job_file);
  }
  return {};
}

void append(Faults& all, const Faults& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Providers and upstreams are the broker's to understand; its words get the secret's place.
Faults checkGrants(const job::JobReading& reading) {
  Faults faults;
  for (const auto& secret : reading.job.secrets) {
    auto planned = secrets::planGrants({grantRequestOf(secret)});
    if (!planned)
      faults.push_back({reading.placeOf("secrets." + secret.name), planned.error().sentence()});
  }
  return faults;
}

/// A job that is refused is believed in where its report goes as far as that part of it holds.
void settleReporting(job::JobReading& reading, Orders& orders) {
  orders.results_do_not_hold = job::whyResultsDoNotHold(reading);
  if (!orders.results_do_not_hold.empty()) reading.job.results = {};
  if (const auto faults = job::checkCollectors(reading); !faults.empty())
    orders.why_no_delivery = base::render(faults.front());
}

constexpr std::size_t kMaxRepeatedWord = 4096;

secrets::GrantTerms termsOf(const job::TermsSpec& said) {
  secrets::GrantTerms terms;
  terms.budget.usd = said.budget.usd;
  terms.budget.tokens = said.budget.tokens;
  terms.budget.requests = said.budget.requests;
  terms.budget.concurrency = said.concurrency;
  terms.budget.warn_at.assign(said.budget.warn_at_percent.begin(),
                              said.budget.warn_at_percent.end());
  terms.models = said.models;
  terms.provider_fetch = said.provider_fetch;
  for (const job::AllowSpec& allow : said.allow)
    terms.allow.push_back({allow.methods, allow.paths});
  terms.expires_after = said.expires_after;
  terms.expires_at = said.expires_at;
  return terms;
}

void addSource(secrets::GrantRequest& request, const job::SecretSpec& secret) {
  using Kind = secrets::GrantSource::Kind;
  request.source.refresh = secret.refresh;
  if (std::holds_alternative<job::ExecSource>(secret.from)) request.source.kind = Kind::Helper;
  const auto* vault = std::get_if<job::VaultSource>(&secret.from);
  if (vault == nullptr) return;
  request.source.kind = Kind::Vault;
  request.source.path = vault->path;
  request.source.field = vault->field;
  request.source.name_space = vault->name_space;
  request.vault_url = vault->address;
  request.vault_ca_file = vault->ca_file;
}

}  // namespace

secrets::GrantRequest grantRequestOf(const job::SecretSpec& secret) {
  secrets::GrantRequest request{secret.name, secret.provider, secret.base_url, secret.ca_file};
  request.terms = termsOf(secret.terms);
  addSource(request, secret);
  if (!secret.inject) return request;
  const job::InjectSpec& said = *secret.inject;
  warder::http::CredentialKind& inject = request.inject.emplace();
  // The job's reader knows the same names.
  inject.kind = warder::http::credentialKindNamed(said.kind).value_or(inject.kind);
  inject.name = said.name;
  inject.user = said.user;
  inject.region = said.region;
  inject.service = said.service;
  return request;
}

Orders readOrders(const std::string& job_file, const job::Overrides& overrides, Reader reader) {
  job::JobReading reading = job::readJob(job_file, overrides);
  Orders orders;
  orders.faults = reading.faults;
  orders.warnings = reading.warnings;
  auto policy = readPolicy(reading.policy, reading.job.file);
  append(orders.faults, policy.faults);
  if (reading.faults.empty()) {
    append(orders.faults, job::checkFiles(reading));
    append(orders.warnings, job::warnAboutFiles(reading));
    const std::string& workspace = reading.job.agent.workspace;
    if (const auto why = overrides.in_place ? whyNoWorkspace(workspace) : ""; !why.empty())
      orders.faults.push_back({reading.placeOf("agent.workspace"), "agent.workspace: " + why});
    if (reader == Reader::Called) append(orders.faults, job::checkHandedOver(reading));
    append(orders.faults, checkGrants(reading));
    auto executable = job::resolveExecutable(reading.job);
    if (executable)
      orders.executable = std::move(*executable);
    else
      orders.faults.push_back({reading.placeOf("agent"), executable.error().sentence()});
  }
  if (!orders.faults.empty()) settleReporting(reading, orders);
  orders.job = std::move(reading.job);
  if (!orders.results_do_not_hold.empty())
    orders.job.results.directory = job::resultsWithoutJob(job_file, overrides);
  orders.policy = std::move(policy.policy);
  return orders;
}

Result<Orders> readOrdersAgain(const InitConfig& config) {
  job::Overrides overrides;
  overrides.workspace = config.workspace;
  overrides.rootfs = config.rootfs;
  overrides.command = config.command;
  if (config.inPlace()) setInPlace(overrides);
  Orders orders = readOrders(config.job_file, overrides, Reader::Later);
  if (!orders.faults.empty()) return Error{Kind::Config, base::render(orders.faults.front())};
  if (orders.job.digest != config.job_digest)
    return Error{Kind::Config, config.job_file + " was changed while the run started"};
  return orders;
}

json::array repeatWords(const std::vector<std::string>& words) {
  json::array repeated;
  std::size_t bytes = 0;
  for (const auto& word : words) {
    const bool cut = word.size() > kMaxRepeatedWord;
    const std::string shown = cut ? word.substr(0, kMaxRepeatedWord) + "…" : word;
    bytes += shown.size();
    if (bytes > kMaxRepeatedBytes) {
      repeated.emplace_back("… and " + std::to_string(words.size() - repeated.size()) + " more");
      break;
    }
    repeated.emplace_back(shown);
  }
  return repeated;
}

Place placeOf(const InitConfig& config) {
  Place place;
  place.in_place = config.inPlace();
  place.one_id = config.one_id;
  place.own_network = !config.inPlace() || launch::mayMakeNetworks();
  place.landlock_abi = launch::landlockAbi();
  return place;
}

std::vector<std::string> missingWalls(const Place& place) {
  std::vector<std::string> missing;
  if (!place.own_network)
    missing.push_back(
        "the agent shares this container's network (mechanism advisory): the policy binds only "
        "what goes through the broker");
  if (place.in_place)
    missing.push_back(
        "the agent sees the whole file system of this container; only owners and modes of files "
        "keep it from what is not its own");
  if (place.landlock_abi < launch::kSignalScopeAbi)
    missing.push_back(
        "this kernel's Landlock cannot keep the agent's signals and abstract sockets to itself; "
        "user ids and namespaces alone do (Linux 6.12 has it)");
  if (!place.one_id) return missing;
  missing.push_back(
      std::string("the agent and its supervisor share one user id of this machine; between them "
                  "stand ") +
      (place.in_place ? "" : "a user namespace, ") + "undumpable processes" +
      (place.landlock_abi < launch::kSignalScopeAbi ? "" : " and a Landlock signal scope"));
  if (place.landlock_abi == 0)
    missing.push_back(
        "without Landlock the agent can read what others of its user are started with: a health "
        "check or a shell that the engine starts with a secret in its environment gives it away");
  missing.push_back(
      "the broker, the scribe and the courier share that user id too, and the agent can change "
      "their scheduling" +
      std::string(place.in_place ? " and the files of the run" : ""));
  missing.push_back("the agent keeps the supplementary groups of whoever started the run");
  return missing;
}

json::object describeStart(const InitConfig& config, const Orders& orders) {
  const auto& job = orders.job;
  json::object limits = {{"grace_ms", job.limits.grace.count()}};
  if (job.limits.wall) limits["wall_ms"] = job.limits.wall->count();
  const std::string user =
      std::to_string(job.agent.user.uid) + ":" + std::to_string(job.agent.user.gid);
  json::array secrets;
  for (const auto& secret : job.secrets)
    secrets.push_back({{"name", secret.name}, {"provider", secret.provider}});
  const bool claude = job.agent.last_words == job::LastWords::ClaudeStreamJson;
  return {
      {"run_id", config.run_id},
      {"attempt", config.attempt},
      {"engine", config.engine},
      {"job", {{"file", config.job_file}, {"digest", config.job_digest}}},
      {"preset", job.agent.preset},
      {"policy",
       {{"source", job.policy_source}, {"rules", repeatWords(policies::explain(orders.policy))}}},
      {"agent",
       {{"user", user},
        {"argv", repeatWords(job.agent.command)},
        {"rootfs", job.agent.root},
        {"last_words", claude ? "claude-stream-json" : "none"}}},
      {"secrets", std::move(secrets)},
      {"limits", std::move(limits)},
      {"memory", {{"warn_at_percent", json::value_from(job.memory.warn_at_percent)}}},
      {"walls_missing", repeatWords(missingWalls(placeOf(config)))}};
}

}  // namespace warder::init
