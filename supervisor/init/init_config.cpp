#include "supervisor/init/init_config.h"

namespace warder::init {

namespace json = base::json;

json::object toJson(const InitConfig& config) {
  return {{"run_id", config.run_id},
          {"engine", config.engine},
          {"stop_within_ms", config.stop_within.count()},
          {"cgroups", config.cgroups},
          {"boot_warnings", json::value_from(config.boot_warnings)},
          {"attempt", config.attempt},
          {"run_dir", config.run_dir},
          {"job_file", config.job_file},
          {"job_digest", config.job_digest},
          {"workspace", config.workspace},
          {"rootfs", config.rootfs},
          {"command", json::value_from(config.command)},
          {"one_id", config.one_id},
          {"home", config.home},
          {"secret_fds", json::value_from(config.secret_fds)},
          {"token_fds", json::value_from(config.token_fds)}};
}

InitConfig initConfigFromJson(const json::object& object) {
  const auto text = [&object](std::string_view key) {
    return std::string(object.at(key).as_string());
  };
  InitConfig config;
  config.run_id = text("run_id");
  config.engine = text("engine");
  config.stop_within =
      std::chrono::milliseconds(object.at("stop_within_ms").to_number<std::int64_t>());
  config.cgroups = text("cgroups");
  config.boot_warnings = json::value_to<std::vector<std::string>>(object.at("boot_warnings"));
  config.attempt = object.at("attempt").to_number<int>();
  config.run_dir = text("run_dir");
  config.job_file = text("job_file");
  config.job_digest = text("job_digest");
  config.workspace = text("workspace");
  config.rootfs = text("rootfs");
  config.command = json::value_to<std::vector<std::string>>(object.at("command"));
  config.one_id = object.at("one_id").as_bool();
  config.home = text("home");
  config.secret_fds = json::value_to<std::vector<int>>(object.at("secret_fds"));
  config.token_fds = json::value_to<std::vector<int>>(object.at("token_fds"));
  return config;
}

}  // namespace warder::init
