#include "secrets/broker_config.h"

#include "policies/policy_json.h"

namespace warder::secrets {

namespace json = base::json;

namespace {

std::string text(const json::object& object, std::string_view key) {
  return std::string(object.at(key).as_string());
}

json::array numbers(const std::vector<int>& fds) {
  return json::array(fds.begin(), fds.end());
}

std::vector<int> fdsAt(const json::object& object, std::string_view key) {
  std::vector<int> fds;
  for (const auto& fd : object.at(key).as_array()) fds.push_back(fd.to_number<int>());
  return fds;
}

json::object toJson(const DoorFds& doors) {
  return {{"transparent", numbers(doors.transparent)},
          {"proxy", numbers(doors.proxy)},
          {"dns_udp", numbers(doors.dns_udp)},
          {"dns_tcp", numbers(doors.dns_tcp)}};
}

DoorFds doorsFromJson(const json::object& object) {
  return {fdsAt(object, "transparent"), fdsAt(object, "proxy"), fdsAt(object, "dns_udp"),
          fdsAt(object, "dns_tcp")};
}

json::object toJson(const Upstream& upstream) {
  return {{"tls", upstream.tls},
          {"host", upstream.host},
          {"port", upstream.port},
          {"base_path", upstream.base_path},
          {"ca_file", upstream.ca_file}};
}

Upstream upstreamFromJson(const json::object& object) {
  Upstream upstream;
  upstream.tls = object.at("tls").as_bool();
  upstream.host = text(object, "host");
  upstream.port = object.at("port").to_number<std::uint16_t>();
  upstream.base_path = text(object, "base_path");
  upstream.ca_file = text(object, "ca_file");
  return upstream;
}

json::object toJson(const GrantSource& source) {
  json::object object = {{"kind", static_cast<int>(source.kind)},
                         {"refresh_ms", nullptr},
                         {"vault", toJson(source.vault)},
                         {"path", source.path},
                         {"field", source.field},
                         {"namespace", source.name_space}};
  if (source.refresh) object["refresh_ms"] = source.refresh->count();
  return object;
}

GrantSource sourceFromJson(const json::object& object) {
  GrantSource source;
  source.kind = static_cast<GrantSource::Kind>(object.at("kind").to_number<int>());
  if (const json::value& refresh = object.at("refresh_ms"); !refresh.is_null())
    source.refresh = std::chrono::milliseconds(refresh.to_number<std::int64_t>());
  source.vault = upstreamFromJson(object.at("vault").as_object());
  source.path = text(object, "path");
  source.field = text(object, "field");
  source.name_space = text(object, "namespace");
  return source;
}

json::object toJson(const Grant& grant) {
  json::array also;
  for (const Upstream& upstream : grant.also) also.push_back(toJson(upstream));
  return {{"name", grant.name},
          {"provider", grant.provider},
          {"placeholder", grant.placeholder},
          {"placeholder_secret", grant.placeholder_secret},
          {"upstream", toJson(grant.upstream)},
          {"also", std::move(also)},
          {"inject", injectToJson(grant.inject)},
          {"terms", toJson(grant.terms)},
          {"source", toJson(grant.source)},
          {"secret_fd", grant.secret_fd},
          {"listener_fds", numbers(grant.listener_fds)},
          {"unix_fd", grant.unix_fd}};
}

Grant grantFromJson(const json::object& object) {
  Grant grant;
  grant.name = text(object, "name");
  grant.provider = text(object, "provider");
  grant.placeholder = text(object, "placeholder");
  grant.placeholder_secret = text(object, "placeholder_secret");
  grant.upstream = upstreamFromJson(object.at("upstream").as_object());
  for (const json::value& upstream : object.at("also").as_array())
    grant.also.push_back(upstreamFromJson(upstream.as_object()));
  grant.inject = injectFromJson(object.at("inject"));
  grant.terms = termsFromJson(object.at("terms").as_object());
  grant.source = sourceFromJson(object.at("source").as_object());
  grant.secret_fd = object.at("secret_fd").to_number<int>();
  grant.listener_fds = fdsAt(object, "listener_fds");
  grant.unix_fd = object.at("unix_fd").to_number<int>();
  return grant;
}

}  // namespace

json::value injectToJson(const std::optional<http::CredentialKind>& inject) {
  if (!inject) return nullptr;
  return json::object{{"kind", http::nameOf(inject->kind)},
                      {"name", inject->name},
                      {"user", inject->user},
                      {"region", inject->region},
                      {"service", inject->service}};
}

std::optional<http::CredentialKind> injectFromJson(const json::value& value) {
  if (value.is_null()) return std::nullopt;
  const json::object& object = value.as_object();
  http::CredentialKind inject;
  inject.kind = http::credentialKindNamed(text(object, "kind")).value();
  inject.name = text(object, "name");
  inject.user = text(object, "user");
  inject.region = text(object, "region");
  inject.service = text(object, "service");
  return inject;
}

json::object toJson(const BrokerConfig& config) {
  json::array grants;
  for (const Grant& grant : config.grants) grants.push_back(toJson(grant));
  return {{"run_id", config.run_id},
          {"shared_network", config.shared_network},
          {"grants", std::move(grants)},
          {"doors", toJson(config.doors)},
          {"policy", policies::toJson(config.policy)}};
}

BrokerConfig brokerConfigFromJson(const json::object& object) {
  BrokerConfig config;
  config.run_id = text(object, "run_id");
  config.shared_network = object.at("shared_network").as_bool();
  for (const auto& grant : object.at("grants").as_array())
    config.grants.push_back(grantFromJson(grant.as_object()));
  config.doors = doorsFromJson(object.at("doors").as_object());
  config.policy = policies::policyFromJson(object.at("policy").as_object());
  return config;
}

}  // namespace warder::secrets
