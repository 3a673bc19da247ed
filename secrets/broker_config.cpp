#include "secrets/broker_config.h"

#include "policies/policy_json.h"

namespace warder::secrets {

namespace json = base::json;

namespace {

std::string text(const json::object& object, std::string_view key) {
  return std::string(object.at(key).as_string());
}

Grant grantFromJson(const json::object& object) {
  Grant grant;
  grant.name = text(object, "name");
  grant.provider = text(object, "provider");
  grant.placeholder = text(object, "placeholder");
  const json::object& upstream = object.at("upstream").as_object();
  grant.upstream.tls = upstream.at("tls").as_bool();
  grant.upstream.host = text(upstream, "host");
  grant.upstream.port = upstream.at("port").to_number<std::uint16_t>();
  grant.upstream.base_path = text(upstream, "base_path");
  grant.upstream.ca_file = text(upstream, "ca_file");
  grant.secret_fd = object.at("secret_fd").to_number<int>();
  for (const auto& fd : object.at("listener_fds").as_array())
    grant.listener_fds.push_back(fd.to_number<int>());
  return grant;
}

}  // namespace

json::object toJson(const BrokerConfig& config) {
  json::array grants;
  for (const Grant& grant : config.grants) {
    const Upstream& to = grant.upstream;
    grants.push_back(json::object{
        {"name", grant.name},
        {"provider", grant.provider},
        {"placeholder", grant.placeholder},
        {"upstream", json::object{{"tls", to.tls},
                                  {"host", to.host},
                                  {"port", to.port},
                                  {"base_path", to.base_path},
                                  {"ca_file", to.ca_file}}},
        {"secret_fd", grant.secret_fd},
        {"listener_fds", json::array(grant.listener_fds.begin(), grant.listener_fds.end())}});
  }
  return {{"grants", std::move(grants)}, {"policy", policies::toJson(config.policy)}};
}

BrokerConfig brokerConfigFromJson(const json::object& object) {
  BrokerConfig config;
  for (const auto& grant : object.at("grants").as_array())
    config.grants.push_back(grantFromJson(grant.as_object()));
  config.policy = policies::policyFromJson(object.at("policy").as_object());
  return config;
}

}  // namespace warder::secrets
