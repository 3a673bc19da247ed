#include "policies/policy_json.h"

namespace warder::policies {
namespace {

namespace json = boost::json;

json::array rulesToJson(const std::vector<Rule>& rules) {
  json::array array;
  for (const Rule& rule : rules) {
    array.push_back(json::object{{"host", rule.host},
                                 {"port", rule.port},
                                 {"methods", json::value_from(rule.methods)},
                                 {"paths", json::value_from(rule.paths)},
                                 {"where", rule.where},
                                 {"flow", nameOf(rule.flow)}});
  }
  return array;
}

Flow flowFromJson(const json::value& value) {
  const auto text = json::value_to<std::string>(value);
  for (const Flow flow : {Flow::Intercept, Flow::Plain, Flow::Tunnel, Flow::Tcp}) {
    if (text == nameOf(flow)) return flow;
  }
  throw boost::system::system_error(json::make_error_code(json::error::syntax), "flow");
}

std::vector<Rule> rulesFromJson(const json::value& value) {
  std::vector<Rule> rules;
  for (const json::value& item : json::value_to<json::array>(value)) {
    const json::object object = json::value_to<json::object>(item);
    Rule rule;
    rule.host = json::value_to<std::string>(object.at("host"));
    rule.port = json::value_to<std::uint16_t>(object.at("port"));
    rule.methods = json::value_to<std::vector<std::string>>(object.at("methods"));
    rule.paths = json::value_to<std::vector<std::string>>(object.at("paths"));
    rule.where = json::value_to<std::string>(object.at("where"));
    rule.flow = flowFromJson(object.at("flow"));
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

json::object toJson(const Policy& policy) {
  return {{"name", policy.name},
          {"allow", rulesToJson(policy.allow)},
          {"deny", rulesToJson(policy.deny)},
          {"allow_degraded", policy.allow_degraded}};
}

Policy policyFromJson(const json::object& object) {
  Policy policy;
  policy.name = json::value_to<std::string>(object.at("name"));
  policy.allow = rulesFromJson(object.at("allow"));
  policy.deny = rulesFromJson(object.at("deny"));
  policy.allow_degraded = json::value_to<bool>(object.at("allow_degraded"));
  return policy;
}

}  // namespace warder::policies
