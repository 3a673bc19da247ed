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
  }
  if (!job.agent.base_url_env.empty()) names.insert(job.agent.base_url_env);
  if (!job.agent.key_env.empty()) names.insert(job.agent.key_env);
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
  checkRoot(draft);
}

}  // namespace warder::job
