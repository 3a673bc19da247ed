#include "supervisor/launch/planner.h"

#include <cctype>
#include <map>

#include "supervisor/launch/box_root.h"

namespace warder::launch {

namespace {

constexpr const char* kHarvestPath =
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

std::string variableName(const std::string& secret) {
  std::string name;
  for (const char letter : secret)
    name += std::isalnum(static_cast<unsigned char>(letter))
                ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter)))
                : '_';
  return name;
}

std::string searchPath(const job::JobSpec& job) {
  std::string path;
  for (const auto& folder : job.agent.path) path += (path.empty() ? "" : ":") + folder;
  return path;
}

std::map<std::string, std::string> environmentOf(const job::JobSpec& job, const BoxFacts& facts) {
  const std::string user = job.agent.user.uid == 0 ? "root" : "agent";
  std::map<std::string, std::string> variables = {
      {"SHELL", "/bin/sh"}, {"LANG", "C.UTF-8"}, {"TERM", "dumb"}, {"TMPDIR", "/tmp"}};
  for (const auto& [name, value] : facts.inherited) variables[name] = value;
  const std::map<std::string, std::string> own = {
      {"PATH", searchPath(job)}, {"HOME", facts.home},     {"USER", user},
      {"LOGNAME", user},         {"PWD", facts.workspace}, {"WARDER_RUN_ID", facts.run_id}};
  for (const auto& [name, value] : own) variables[name] = value;
  for (const auto& door : facts.doors) {
    variables[variableName(door.secret) + "_BASE_URL"] = door.url;
    variables[variableName(door.secret) + "_API_KEY"] = door.placeholder;
    if (!door.socket.empty()) variables[variableName(door.secret) + "_SOCKET"] = door.socket;
    if (door.secret != job.agent.secret) continue;
    if (!job.agent.unix_socket_env.empty()) variables[job.agent.unix_socket_env] = door.socket;
    if (!job.agent.base_url_env.empty()) variables[job.agent.base_url_env] = door.url;
    if (!job.agent.key_env.empty()) variables[job.agent.key_env] = door.placeholder;
  }
  for (const auto& [name, value] : job.agent.env) variables[name] = value;
  for (const auto& name : facts.trust.unset) variables.erase(name);
  for (const auto& [name, value] : facts.trust.set) variables[name] = value;
  return variables;
}

ExecPlan planCommon(const job::JobSpec& job, const BoxFacts& facts) {
  ExecPlan plan;
  plan.root = facts.root;
  plan.working_directory = facts.workspace;
  plan.uid = job.agent.user.uid;
  plan.gid = job.agent.user.gid;
  plan.one_id = facts.one_id;
  plan.umask = job.agent.umask;
  return plan;
}

}  // namespace

ExecPlan planAgent(const job::JobSpec& job, const BoxFacts& facts) {
  ExecPlan plan = planCommon(job, facts);
  plan.argv = job.agent.command;
  if (!facts.executable.empty()) plan.argv.at(0) = facts.executable;
  if (job.agent.prompt_by == job::PromptBy::Argument) plan.argv.push_back(job.agent.prompt);
  for (const auto& [name, value] : environmentOf(job, facts))
    plan.environment.push_back(name + "=" + value);
  // A HOME of the job's own is the one that counts.
  const auto home = job.agent.env.find("HOME");
  plan.home = home == job.agent.env.end() ? facts.home : home->second;
  // The preset's reader has seen to it that each is an object.
  for (const auto& seed : job.agent.seeds)
    if (auto content = seedContent(seed.json, facts.workspace))
      plan.seeds.push_back({seed.path, std::move(*content)});
  return plan;
}

ExecPlan planHarvest(const job::JobSpec& job, const BoxFacts& facts,
                     const std::string& private_folder) {
  ExecPlan plan = planCommon(job, facts);
  plan.argv = {"harvest"};
  plan.environment = {kHarvestPath, "HOME=/nonexistent", "LANG=C.UTF-8"};
  plan.own_stage = true;
  if (facts.root.empty()) return plan;  // in place it finds the folder under its own path
  plan.private_from = private_folder;
  plan.private_to = kPrivateInBox;
  return plan;
}

}  // namespace warder::launch
