// Rules between the sections of a job. Pure.
#include <cctype>
#include <set>

#include "supervisor/job/sections.h"

namespace warder::job {
namespace {

/// Variables through which the agent is told its doors; see launch/planner.h.
std::set<std::string> doorVariables(const JobSpec& job) {
  std::set<std::string> names;
  for (const SecretSpec& secret : job.secrets) {
    std::string upper;
    for (const char c : secret.name) {
      upper += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    names.insert(upper + "_BASE_URL");
    names.insert(upper + "_API_KEY");
    names.insert(upper + "_SOCKET");
  }
  if (!job.agent.base_url_env.empty()) names.insert(job.agent.base_url_env);
  if (!job.agent.key_env.empty()) names.insert(job.agent.key_env);
  if (!job.agent.unix_socket_env.empty()) names.insert(job.agent.unix_socket_env);
  return names;
}

void checkEnvironment(Draft& draft) {
  const std::set<std::string> taken = doorVariables(draft.reading.job);
  for (const auto& [name, value] : draft.reading.job.agent.env) {
    if (taken.count(name) == 0) continue;
    const std::string key = "agent.env." + name;
    draft.reading.faults.push_back(
        {draft.reading.placeOf(key),
         key + " is set by the broker, which gives the agent its door and a placeholder there; "
               "leave it out"});
  }
}

void checkSecretOfPreset(Draft& draft) {
  const JobSpec& job = draft.reading.job;
  if (job.agent.secret.empty() || !draft.input.overrides.command.empty()) return;
  for (const SecretSpec& secret : job.secrets) {
    if (secret.name == job.agent.secret) return;
  }
  draft.reading.faults.push_back(
      {draft.reading.placeOf("agent.preset"),
       "secrets." + job.agent.secret + " is missing: preset " + job.agent.preset + " needs it"});
}

/// Where the agent's words come from: for people, and where that stands.
struct Words {
  std::string what;
  std::string where;
};

Words wordsOf(const Draft& draft) {
  const JobReading& reading = draft.reading;
  if (!draft.input.overrides.command.empty()) return {"the command after --", ""};
  if (!draft.has_preset) return {"agent.command", reading.placeOf("agent.command")};
  return {"the command of preset " + reading.job.agent.preset, reading.placeOf("agent.preset")};
}

/// What one text costs among the kernel's arguments.
std::size_t costOf(const std::string& text) {
  return text.size() + 1 + sizeof(char*);
}

/// What execve(2) would refuse is refused here.
void checkLengths(Draft& draft) {
  JobReading& reading = draft.reading;
  const AgentSpec& agent = reading.job.agent;
  const Words words = wordsOf(draft);
  const std::string limit = " is longer than " + std::to_string(kLongestArgument) +
                            " bytes, the most that the kernel hands to a program in one piece";
  const std::string prompt = agent.prompt_by == PromptBy::Argument ? agent.prompt : "";
  bool fits = prompt.size() <= kLongestArgument;  // checkPrompt has said so
  std::size_t all = costOf(prompt);
  for (std::size_t i = 0; i < agent.command.size(); ++i) {
    all += costOf(agent.command[i]);
    if (agent.command[i].size() <= kLongestArgument) continue;
    reading.faults.push_back({words.where, words.what + ": word " + std::to_string(i + 1) + limit});
    fits = false;
  }
  for (const auto& [name, value] : agent.env) {
    all += costOf(name + "=" + value);
    if (name.size() + 1 + value.size() <= kLongestArgument) continue;
    const std::string key = "agent.env." + name;
    const bool own = reading.places.count(key) > 0;
    reading.faults.push_back({reading.placeOf(own ? key : "agent.preset"), key + limit});
    fits = false;
  }
  if (!fits || all <= kMostArguments) return;
  reading.faults.push_back(
      {words.where, words.what + " and agent.env are together longer than 1 MiB, more than the "
                                 "kernel may hand to a program; a prompt on standard input or a "
                                 "file in the workspace holds more"});
}

/// BC-001: an agent that exits at once as root, in the words of the one who has to act.
void checkRoot(Draft& draft) {
  const AgentSpec& agent = draft.reading.job.agent;
  if (!agent.refuses_root || agent.user.uid != 0) return;
  const auto sandbox = agent.env.find("IS_SANDBOX");
  if (sandbox != agent.env.end() && sandbox->second == "1") return;
  draft.addWarning("agent.user", "preset " + agent.preset +
                                     " refuses to work as root and will exit at once; set "
                                     "agent.user to a uid other than 0, or agent.env.IS_SANDBOX "
                                     "to \"1\"");
}

}  // namespace

void Draft::note(const std::string& key, const base::YamlNode* node) {
  if (node != nullptr) reading.places[key] = faults.where(node->mark);
}

void Draft::addWarning(const std::string& key, std::string sentence) {
  reading.warnings.push_back({reading.placeOf(key), std::move(sentence)});
}

void checkTogether(Draft& draft) {
  JobReading& reading = draft.reading;
  if (reading.policy.where.empty()) {
    const std::string& shipped = draft.preset.policy;
    reading.policy.where = reading.placeOf("agent.preset");
    reading.policy.from = shipped.empty() ? PolicyAsk::From::Nothing : PolicyAsk::From::Shipped;
    reading.policy.name = shipped;
    reading.job.policy_source = shipped.empty() ? "nothing" : shipped;
  }
  checkEnvironment(draft);
  checkSecretOfPreset(draft);
  checkLengths(draft);
  checkRoot(draft);
}

}  // namespace warder::job
