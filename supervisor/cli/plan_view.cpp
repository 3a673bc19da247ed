#include "supervisor/cli/plan_view.h"

#include "policies/explain.h"
#include "supervisor/base/log.h"
#include "supervisor/base/units.h"
#include "supervisor/launch/confine.h"

namespace warder::cli {
namespace {

init::Place wallsOf(const Plan& plan) {
  init::Place place;
  place.one_id = plan.one_id;
  place.landlock_abi = launch::landlockAbi();
  return place;
}

namespace json = base::json;

constexpr std::size_t kNameWidth = 16;

/// One word of a command line, in quotes where a reader could not see its ends.
std::string wordText(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\n\"'\\") == std::string::npos) return word;
  std::string shown = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') shown += '\\';
    shown += c;
  }
  return shown + "\"";
}

std::string commandText(const init::Orders& orders) {
  std::string text;
  for (std::size_t i = 0; i < orders.job.agent.command.size(); ++i) {
    const bool found = i == 0 && !orders.executable.empty();
    text += (i == 0 ? "" : " ") + wordText(found ? orders.executable : orders.job.agent.command[i]);
  }
  return text;
}

std::string userText(const job::User& user) {
  return std::to_string(user.uid) + ":" + std::to_string(user.gid);
}

std::string promptText(const job::AgentSpec& agent) {
  const std::string size = base::printSize(agent.prompt.size());
  switch (agent.prompt_by) {
    case job::PromptBy::Stdin:
      return size + " on standard input";
    case job::PromptBy::Argument:
      return size + " as the last argument";
    case job::PromptBy::None:
      return "none";
  }
  return "none";
}

std::string sourceText(const job::HandedSource& source) {
  if (const auto* file = std::get_if<job::FileSource>(&source)) return "file " + file->path;
  if (const auto* fd = std::get_if<job::FdSource>(&source)) {
    return "descriptor " + std::to_string(fd->fd);
  }
  return "variable " + std::get<job::EnvSource>(source).variable;
}

std::string sourceText(const job::SecretSource& source) {
  if (const auto* exec = std::get_if<job::ExecSource>(&source))
    return "program " + exec->command.front();
  if (const auto* vault = std::get_if<job::VaultSource>(&source))
    return "vault " + vault->address + ", " + vault->path + ", field " + vault->field;
  return sourceText(*job::handedOf(source));
}

std::string upstreamText(const secrets::Upstream& upstream) {
  const bool is_v6 = upstream.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + upstream.host + "]" : upstream.host;
  return std::string(upstream.tls ? "https://" : "http://") + host + ":" +
         std::to_string(upstream.port) + upstream.base_path;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string marksText(const std::vector<int>& marks) {
  std::vector<std::string> words;
  for (const int mark : marks) words.push_back(std::to_string(mark) + "%");
  return joined(words);
}

/// What stands between the agent and the machine in a box that `warder run` makes here.
std::vector<std::string> wallsOf(const job::JobSpec& job, bool one_id) {
  std::vector<std::string> walls = {
      "network: mechanism netns; a namespace with only lo, doors to the broker on 127.0.0.1",
      "files: a root of its own; programs and read_only paths cannot be written",
      "processes: own pid, ipc and uts namespaces; no capabilities, no new privileges, a system "
      "call filter"};
  if (one_id) {
    walls.push_back("users: the agent has your own uid, in a user namespace of its own");
  } else if (job.agent.user.uid == 0) {
    walls.push_back("users: the agent is uid 0; broker, scribe and courier have a uid each");
  } else {
    walls.push_back("users: agent, broker, scribe and courier have a uid each");
  }
  return walls;
}

class Table {
 public:
  void row(const std::string& name, const std::string& value) {
    std::string line = name;
    if (line.size() < kNameWidth) line.append(kNameWidth - line.size(), ' ');
    text_ += base::escapeForTerminal(line + "  " + value) + "\n";
  }
  void rows(const std::string& name, const std::vector<std::string>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) row(i == 0 ? name : "", values[i]);
  }
  std::string text() const { return text_; }

 private:
  std::string text_;
};

void addAgent(const init::Orders& orders, Table& table) {
  const job::AgentSpec& agent = orders.job.agent;
  table.row("agent", commandText(orders));
  if (!agent.preset.empty()) table.row("preset", agent.preset);
  table.row("prompt", promptText(agent));
  table.row("user", userText(agent.user) + ", umask " + base::printMode(agent.umask));
  table.row("workspace", agent.workspace + " (in the box " + job::kWorkspaceInBox + ")");
  if (!agent.root.empty()) table.row("root", agent.root + " (read-only)");
  table.rows("read-only", agent.read_only);
  table.row("tmp and home", base::printSize(agent.tmp_size));
  std::vector<std::string> variables;
  for (const auto& [name, value] : agent.env) variables.push_back(name + "=" + wordText(value));
  table.rows("environment", variables);
}

void addSecrets(const Plan& plan, Table& table) {
  const auto& secrets = plan.orders.job.secrets;
  if (secrets.empty()) table.row("secrets", "none");
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    std::string value = secrets[i].name + " from " + sourceText(secrets[i].from);
    if (i < plan.grants.size()) value += ", lent for " + upstreamText(plan.grants[i].upstream);
    table.row(i == 0 ? "secrets" : "", value);
  }
}

void addResults(const job::ResultsSpec& results, Table& table) {
  table.row("artifacts", results.artifacts.empty() ? "none"
                                                   : joined(results.artifacts) + ", at most " +
                                                         base::printSize(results.max_size));
  table.row("patch", results.patch ? "yes" : "no");
  table.row("results", results.directory);
  for (const job::CollectorSpec& collector : results.to) {
    table.row("collector", collector.url + ", token from " + sourceText(collector.token) +
                               ", within " + base::printDuration(results.deliver_within) +
                               " after the end");
  }
}

json::array toArray(const std::vector<std::string>& items) {
  json::array array;
  for (const std::string& item : items) array.emplace_back(item);
  return array;
}

json::object agentJson(const init::Orders& orders) {
  const job::AgentSpec& agent = orders.job.agent;
  json::object variables;
  for (const auto& [name, value] : agent.env) variables[name] = value;
  json::array argv = toArray(agent.command);
  if (!argv.empty() && !orders.executable.empty()) argv[0] = json::string(orders.executable);
  return {{"preset", agent.preset},           {"argv", std::move(argv)},
          {"user", userText(agent.user)},     {"umask", base::printMode(agent.umask)},
          {"workspace", agent.workspace},     {"read_only", toArray(agent.read_only)},
          {"tmp_size_bytes", agent.tmp_size}, {"prompt_bytes", agent.prompt.size()},
          {"env", std::move(variables)},      {"rootfs", agent.root}};
}

json::object resultsJson(const job::ResultsSpec& results) {
  json::array collectors;
  for (const job::CollectorSpec& collector : results.to) {
    collectors.push_back(
        json::object{{"collector", collector.url}, {"token_from", sourceText(collector.token)}});
  }
  return {{"artifacts", toArray(results.artifacts)},
          {"patch", results.patch},
          {"max_size_bytes", results.max_size},
          {"dir", results.directory},
          {"to", std::move(collectors)},
          {"deliver_within_ms", results.deliver_within.count()}};
}

}  // namespace

std::string planText(const Plan& plan) {
  const job::JobSpec& job = plan.orders.job;
  Table table;
  table.row("job", job.file);
  addAgent(plan.orders, table);
  addSecrets(plan, table);
  table.row("policy", job.policy_source);
  table.rows("", policies::explain(plan.orders.policy));
  table.row("memory warnings", marksText(job.memory.warn_at_percent));
  table.row("wall limit", job.limits.wall ? base::printDuration(*job.limits.wall) : "none");
  table.row("grace", base::printDuration(job.limits.grace));
  addResults(job.results, table);
  table.rows("enforced here", wallsOf(job, plan.one_id));
  table.rows("missing here", init::missingWalls(wallsOf(plan)));
  return table.text();
}

json::object planJson(const Plan& plan) {
  const job::JobSpec& job = plan.orders.job;
  json::array secrets;
  for (std::size_t i = 0; i < job.secrets.size(); ++i) {
    json::object secret = {{"name", job.secrets[i].name},
                           {"from", sourceText(job.secrets[i].from)}};
    if (i < plan.grants.size()) secret["upstream"] = upstreamText(plan.grants[i].upstream);
    secrets.push_back(std::move(secret));
  }
  json::object limits = {{"grace_ms", job.limits.grace.count()}};
  if (job.limits.wall) limits["wall_ms"] = job.limits.wall->count();
  return {
      {"job", {{"file", job.file}, {"digest", job.digest}}},
      {"agent", agentJson(plan.orders)},
      {"secrets", std::move(secrets)},
      {"policy",
       {{"source", job.policy_source}, {"rules", toArray(policies::explain(plan.orders.policy))}}},
      {"memory", {{"warn_at_percent", json::value_from(job.memory.warn_at_percent)}}},
      {"limits", std::move(limits)},
      {"results", resultsJson(job.results)},
      {"mechanism", "netns"},
      {"enforced", toArray(wallsOf(job, plan.one_id))},
      {"walls_missing", toArray(init::missingWalls(wallsOf(plan)))}};
}

}  // namespace warder::cli
