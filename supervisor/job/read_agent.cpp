// `agent:` of a job file.
#include <algorithm>
#include <limits>

#include "supervisor/base/service_ids.h"
#include "supervisor/base/units.h"
#include "supervisor/base/yaml_scalar.h"
#include "supervisor/job/fields.h"
#include "supervisor/job/sections.h"

namespace warder::job {
namespace {

using base::inQuotes;
using base::YamlFields;
using base::YamlNode;

constexpr std::uint64_t kDefaultTmp = 1ULL << 30;
constexpr std::uint64_t kLeastTmp = 1ULL << 20;

std::optional<std::uint32_t> readId(const std::string& digits) {
  // The highest id means "none" to the kernel (setresuid(2)).
  constexpr std::uint64_t kHighest = std::numeric_limits<std::uint32_t>::max() - 1ULL;
  if (!base::isPlainDecimal(digits) || std::stoull(digits) > kHighest) return std::nullopt;
  return static_cast<std::uint32_t>(std::stoull(digits));
}

bool isServiceId(std::uint32_t id) {
  return id >= base::kFirstServiceId && id <= base::kLastServiceId;
}

void readUser(YamlFields& fields, Draft& draft) {
  const YamlNode* node = fields.find("user");
  if (node == nullptr) return;
  draft.note("agent.user", node);
  // "1000:1000" is written without quotes everywhere; digits:digits is read in either form.
  const auto text = base::yamlWord(*node, "agent.user", draft.faults);
  if (!text) return;
  const std::size_t colon = text->find(':');
  const auto uid = readId(text->substr(0, colon));
  const auto gid = colon == std::string::npos ? std::nullopt : readId(text->substr(colon + 1));
  if (!uid || !gid) {
    draft.faults.add(*node, "agent.user: " + inQuotes(*text) +
                                " is not UID:GID in decimal, such as \"1000:1000\"");
    return;
  }
  if (isServiceId(*uid) || isServiceId(*gid)) {
    draft.faults.add(*node, "agent.user: the ids " + std::to_string(base::kFirstServiceId) +
                                " to " + std::to_string(base::kLastServiceId) +
                                " belong to Warder's own services; take others");
    return;
  }
  draft.reading.job.agent.user = {*uid, *gid};
}

void readPreset(YamlFields& fields, Draft& draft) {
  const YamlNode* node = fields.find("preset");
  if (node == nullptr) return;
  draft.note("agent.preset", node);
  const auto text = base::yamlText(*node, "agent.preset", draft.faults);
  if (!text) return;
  draft.has_preset = true;
  draft.reading.job.agent.preset = *text;
  PresetReading preset;
  if (namesFile(*text)) {
    draft.reading.preset_file = absolutePath(draft.folder, *text);
    const auto content = draft.input.read_file(draft.reading.preset_file);
    preset = content ? readPresetText(*content, draft.reading.preset_file)
                     : PresetReading{{},
                                     {{draft.faults.where(node->mark),
                                       "agent.preset: " + content.error().sentence()}}};
  } else {
    preset = readShippedPreset(*text, draft.faults.where(node->mark));
  }
  draft.preset = std::move(preset.preset);
  auto& faults = draft.reading.faults;
  faults.insert(faults.end(), preset.faults.begin(), preset.faults.end());
}

void readCommand(YamlFields& fields, Draft& draft) {
  const YamlNode* node = fields.find("command");
  if (node == nullptr) return;
  draft.note("agent.command", node);
  AgentSpec& agent = draft.reading.job.agent;
  agent.command = base::yamlTexts(*node, "agent.command", draft.faults).value_or(agent.command);
  const bool is_list = node->kind == YamlNode::Kind::Sequence;
  if (is_list && (node->items.empty() || (!agent.command.empty() && agent.command[0].empty()))) {
    draft.faults.add(*node, "agent.command begins with the program to run; this has none");
  }
}

void readPrompt(YamlFields& fields, Draft& draft) {
  AgentSpec& agent = draft.reading.job.agent;
  const YamlNode* prompt = fields.find("prompt");
  const YamlNode* file = fields.find("prompt_file");
  draft.note("agent.prompt", prompt != nullptr ? prompt : file);
  if (prompt != nullptr) {
    agent.prompt = base::yamlText(*prompt, "agent.prompt", draft.faults).value_or("");
  }
  if (prompt != nullptr && file != nullptr) {
    draft.faults.add(*file, "agent.prompt and agent.prompt_file exclude each other; keep one");
    return;
  }
  if (file != nullptr) {
    const auto path = readPath(fields, "prompt_file", draft.folder, draft.faults);
    if (!path) return;
    const auto text = draft.input.read_file(*path);
    if (!text) {
      draft.faults.add(*file, "agent.prompt_file: " + text.error().sentence());
      return;
    }
    agent.prompt = *text;
  }
  const YamlNode* given = prompt != nullptr ? prompt : file;
  if (given == nullptr) return;
  if (agent.prompt.empty() && given->kind == YamlNode::Kind::Scalar) {
    draft.faults.add(*given, "the prompt is empty");
  }
  if (agent.prompt.find('\0') != std::string::npos) {
    draft.faults.add(*given, "the prompt holds a NUL byte; it must be text");
  }
}

/// What the preset says, then what the job says on top.
void applyPreset(Draft& draft, const std::optional<std::string>& executable) {
  AgentSpec& agent = draft.reading.job.agent;
  const Preset& preset = draft.preset;
  agent.executables = executable ? std::vector<std::string>{*executable} : preset.executables;
  agent.command = {agent.executables.empty() ? "" : agent.executables.front()};
  agent.command.insert(agent.command.end(), preset.arguments.begin(), preset.arguments.end());
  agent.prompt_by = preset.prompt_by;
  agent.refuses_root = preset.refuses_root;
  agent.stop_signal = preset.stop_signal;
  agent.stop_group = preset.stop_group;
  agent.last_words = preset.last_words;
  agent.secret = preset.secret;
  agent.base_url_env = preset.base_url_env;
  agent.key_env = preset.key_env;
  agent.unix_socket_env = preset.unix_socket_env;
  agent.seeds = preset.seeds;
  std::map<std::string, std::string> env = preset.env;
  for (const auto& [name, value] : agent.env) env[name] = value;
  agent.env = std::move(env);
}

void checkPrompt(const YamlNode& node, Draft& draft) {
  const AgentSpec& agent = draft.reading.job.agent;
  const bool given = draft.reading.places.count("agent.prompt") > 0;
  if (draft.has_preset && agent.prompt_by != PromptBy::None && !given) {
    draft.faults.add(node, "agent.prompt is missing: preset " + agent.preset +
                               " needs one (prompt or prompt_file)");
  }
  if (draft.has_preset && agent.prompt_by == PromptBy::None && given) {
    draft.faults.add(node, "agent.prompt: preset " + agent.preset + " takes no prompt");
  }
  if (agent.prompt_by == PromptBy::Argument && agent.prompt.size() > kLongestArgument) {
    draft.faults.add(node, "agent.prompt is longer than 128 KiB, the most that an argument holds");
  }
}

/// Exactly one of preset and command, unless the command line gives the command.
void settleCommand(const YamlNode& node, YamlFields& fields, Draft& draft) {
  AgentSpec& agent = draft.reading.job.agent;
  const bool has_command = fields.find("command") != nullptr;
  const auto executable = readPath(fields, "executable", draft.folder, draft.faults);
  draft.note("agent.executable", fields.find("executable"));
  if (draft.has_preset && has_command) {
    draft.faults.add(*fields.find("command"),
                     "agent.preset and agent.command exclude each other; keep one");
  }
  if (executable && fields.find("preset") == nullptr) {
    draft.faults.add(*fields.find("executable"),
                     "agent.executable belongs to a preset; a command names its own program");
  }
  const auto& override = draft.input.overrides.command;
  if (fields.usable() && fields.find("preset") == nullptr && !has_command && override.empty()) {
    draft.faults.add(node, "agent needs preset or command");
  }
  if (draft.has_preset) {
    applyPreset(draft, executable);
  } else {
    agent.prompt_by = agent.prompt.empty() ? PromptBy::None : PromptBy::Stdin;
    if (!agent.command.empty()) agent.executables = {agent.command.front()};
  }
  if (override.empty()) {
    checkPrompt(node, draft);
    return;
  }
  agent.command = override;
  agent.executables = {override.front()};
  agent.prompt_by = PromptBy::None;
  agent.last_words = LastWords::None;
  agent.refuses_root = false;
  agent.seeds.clear();
}

void readWorkspace(YamlFields& fields, Draft& draft) {
  AgentSpec& agent = draft.reading.job.agent;
  const std::string& override = draft.input.overrides.workspace;
  if (override.empty()) fields.need("workspace");
  draft.note("agent.workspace", fields.find("workspace"));
  agent.workspace = readPath(fields, "workspace", draft.folder, draft.faults).value_or("");
  if (!override.empty()) agent.workspace = override;
}

/// What makes no difference where no box is built, is said and not silently left out.
void takeInPlace(YamlFields& fields, Draft& draft) {
  AgentSpec& agent = draft.reading.job.agent;
  for (const char* key : {"rootfs", "read_only", "tmp_size"}) {
    const YamlNode* node = fields.find(key);
    if (node == nullptr) continue;
    draft.reading.warnings.push_back(
        {draft.faults.where(node->mark),
         "agent." + std::string(key) +
             " has no effect in place: the agent sees the file system of this container"});
  }
  agent.read_only.clear();
  agent.root = "/";
  if (!draft.input.overrides.path.empty()) agent.path = draft.input.overrides.path;
  const auto& user = draft.input.overrides.user;
  if (!user || (user->uid == agent.user.uid && user->gid == agent.user.gid)) return;
  std::string sentence = "the agent runs as " + std::to_string(user->uid) + ":" +
                         std::to_string(user->gid) + ", the only user that this container gives";
  if (user->uid == 0)
    sentence +=
        "; a user of its own takes the capabilities SETUID, SETGID, CHOWN, FOWNER, DAC_OVERRIDE "
        "and KILL";
  draft.reading.warnings.push_back({draft.reading.placeOf("agent.user"), std::move(sentence)});
  agent.user = *user;
}

void readRoot(YamlFields& fields, Draft& draft) {
  AgentSpec& agent = draft.reading.job.agent;
  const YamlNode* node = fields.find("rootfs");
  draft.note("agent.rootfs", node);
  agent.root = readPath(fields, "rootfs", draft.folder, draft.faults).value_or("");
  if (!draft.input.overrides.rootfs.empty()) agent.root = draft.input.overrides.rootfs;
  if (agent.root != "/" || draft.input.overrides.in_place) return;
  agent.root.clear();
  draft.reading.faults.push_back(
      {draft.reading.placeOf("agent.rootfs"),
       "agent.rootfs: / is this machine's own root; name the folder of an unpacked image, or leave "
       "it out to show this machine's programs"});
}

void readShownPaths(YamlFields& fields, Draft& draft) {
  const YamlNode* node = fields.find("read_only");
  const auto paths = fields.texts("read_only");
  draft.note("agent.read_only", node);
  if (!paths) return;
  for (std::size_t i = 0; i < paths->size(); ++i) {
    if ((*paths)[i].empty()) {
      draft.faults.add(*node->items[i], "agent.read_only: a path is empty");
    } else {
      draft.reading.job.agent.read_only.push_back(absolutePath(draft.folder, (*paths)[i]));
    }
  }
}

}  // namespace

void readAgent(const YamlNode& node, Draft& draft) {
  AgentSpec& agent = draft.reading.job.agent;
  YamlFields fields(node, "agent", draft.faults);
  readPreset(fields, draft);
  readCommand(fields, draft);
  readPrompt(fields, draft);
  readWorkspace(fields, draft);
  readRoot(fields, draft);
  readUser(fields, draft);
  readShownPaths(fields, draft);
  if (const YamlNode* env = fields.find("env")) {
    draft.note("agent.env", env);
    agent.env = readEnvironment(*env, "agent.env", draft.faults);
    for (const base::YamlEntry& entry : env->entries) {
      draft.reading.places["agent.env." + entry.key] = draft.faults.where(entry.mark);
    }
  }
  agent.umask = fields.mode("umask").value_or(022);
  agent.tmp_size = fields.size("tmp_size").value_or(kDefaultTmp);
  if (agent.tmp_size < kLeastTmp) {
    draft.faults.add(*fields.find("tmp_size"), "agent.tmp_size is less than 1MiB");
  }
  if (draft.input.overrides.in_place) takeInPlace(fields, draft);
  settleCommand(node, fields, draft);
  // Where the program is named: a program that is not there is told at this place.
  draft.note("agent", &node);
  for (const char* key : {"preset", "command", "executable"}) draft.note("agent", fields.find(key));
  fields.finish();
}

}  // namespace warder::job
