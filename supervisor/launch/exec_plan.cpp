#include "supervisor/launch/exec_plan.h"

namespace warder::launch {

namespace json = base::json;

namespace {
json::array toArray(const std::vector<std::string>& items) {
  json::array array;
  for (const auto& item : items) array.emplace_back(item);
  return array;
}
json::array toArray(const std::vector<Seed>& seeds) {
  json::array array;
  for (const auto& seed : seeds) array.push_back({{"path", seed.path}, {"content", seed.content}});
  return array;
}
std::vector<std::string> toStrings(const json::value& value) {
  std::vector<std::string> items;
  for (const auto& item : value.as_array()) items.emplace_back(item.as_string());
  return items;
}
std::string text(const json::object& object, std::string_view key) {
  return std::string(object.at(key).as_string());
}
template <class Number>
Number number(const json::object& object, std::string_view key) {
  return object.at(key).to_number<Number>();
}
}  // namespace

json::object toJson(const ExecPlan& plan) {
  return {{"argv", toArray(plan.argv)},
          {"environment", toArray(plan.environment)},
          {"working_directory", plan.working_directory},
          {"root", plan.root},
          {"private_from", plan.private_from},
          {"private_to", plan.private_to},
          {"uid", plan.uid},
          {"gid", plan.gid},
          {"one_id", plan.one_id},
          {"umask", plan.umask},
          {"own_stage", plan.own_stage},
          {"home", plan.home},
          {"seeds", toArray(plan.seeds)},
          {"fds",
           {{"stdin", plan.fds.standard_input},
            {"stdout", plan.fds.standard_output},
            {"stderr", plan.fds.standard_error},
            {"netns", plan.fds.network_namespace},
            {"stage_config", plan.fds.stage_config},
            {"stage_extra", plan.fds.stage_extra},
            {"cgroup", plan.fds.cgroup}}}};
}

ExecPlan execPlanFromJson(const json::object& object) {
  ExecPlan plan;
  plan.argv = toStrings(object.at("argv"));
  plan.environment = toStrings(object.at("environment"));
  plan.working_directory = text(object, "working_directory");
  plan.root = text(object, "root");
  plan.private_from = text(object, "private_from");
  plan.private_to = text(object, "private_to");
  plan.uid = number<uid_t>(object, "uid");
  plan.gid = number<gid_t>(object, "gid");
  plan.one_id = object.at("one_id").as_bool();
  plan.umask = number<mode_t>(object, "umask");
  plan.own_stage = object.at("own_stage").as_bool();
  plan.home = text(object, "home");
  for (const auto& seed : object.at("seeds").as_array())
    plan.seeds.push_back({text(seed.as_object(), "path"), seed.at("content").as_object()});
  const auto& fds = object.at("fds").as_object();
  plan.fds = {number<int>(fds, "stdin"),        number<int>(fds, "stdout"),
              number<int>(fds, "stderr"),       number<int>(fds, "netns"),
              number<int>(fds, "stage_config"), number<int>(fds, "stage_extra"),
              number<int>(fds, "cgroup")};
  return plan;
}

}  // namespace warder::launch
