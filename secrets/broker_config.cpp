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
  grant.listener_fds = fdsAt(object, "listener_fds");
  grant.unix_fd = object.at("unix_fd").to_number<int>();
  return grant;
}

}  // namespace

json::object toJson(const BrokerConfig& config) {
  json::array grants;
  for (const Grant& grant : config.grants) {
    const Upstream& to = grant.upstream;
    grants.push_back(json::object{{"name", grant.name},
                                  {"provider", grant.provider},
                                  {"placeholder", grant.placeholder},
                                  {"upstream", json::object{{"tls", to.tls},
                                                            {"host", to.host},
                                                            {"port", to.port},
                                                            {"base_path", to.base_path},
                                                            {"ca_file", to.ca_file}}},
                                  {"secret_fd", grant.secret_fd},
                                  {"listener_fds", numbers(grant.listener_fds)},
                                  {"unix_fd", grant.unix_fd}});
  }
  return {{"grants", std::move(grants)},
          {"doors", toJson(config.doors)},
          {"policy", policies::toJson(config.policy)}};
}

BrokerConfig brokerConfigFromJson(const json::object& object) {
  BrokerConfig config;
  for (const auto& grant : object.at("grants").as_array())
    config.grants.push_back(grantFromJson(grant.as_object()));
  config.doors = doorsFromJson(object.at("doors").as_object());
  config.policy = policies::policyFromJson(object.at("policy").as_object());
  return config;
}

}  // namespace warder::secrets
