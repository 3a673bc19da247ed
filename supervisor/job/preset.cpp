#include "supervisor/job/preset.h"

#include <algorithm>
#include <csignal>
#include <span>

#include "supervisor/base/embedded.h"
#include "supervisor/base/wire.h"
#include "supervisor/base/yaml_fields.h"
#include "supervisor/job/fields.h"

namespace warder::job {

std::span<const base::EmbeddedFile> agent_presets();

namespace {

using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

template <class Value>
Value readChoice(YamlFields& fields, const std::string& key, YamlFaults& faults,
                 const std::vector<std::pair<std::string, Value>>& choices) {
  const auto text = fields.text(key);
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names.push_back(name);
  }
  if (text) {
    faults.add(*fields.find(key),
               fields.name(key) + ": " + base::inQuotes(*text) + base::suggestion(*text, names));
  }
  return choices.front().second;
}

void readVariable(YamlFields& fields, const std::string& key, YamlFaults& faults,
                  std::string& into) {
  const auto name = fields.text(key);
  if (!name) return;
  into = *name;
  if (!isVariableName(*name)) {
    faults.add(*fields.find(key), fields.name(key) + ": " + base::inQuotes(*name) +
                                      " is no name of an environment variable");
  }
}

/// Why this is no path below the home folder, as half a sentence; empty when it is one.
std::string whyNoSeedPath(const std::string& path) {
  if (path.empty() || path.front() == '/') return "is not relative to the home folder";
  const std::string framed = "/" + path + "/";
  if (framed.find("/../") != std::string::npos || framed.find("/./") != std::string::npos ||
      framed.find("//") != std::string::npos)
    return "has an empty, . or .. part";
  return {};
}

std::string whyNoSeed(const std::string& text) {
  if (text.size() > kLargestSeed) return "is larger than 64 KiB";
  const auto value = base::parseJson(text);
  if (!value) return value.error().sentence();
  return value->is_object() ? "" : "is no JSON object";
}

std::vector<SeedFile> readSeeds(YamlFields& fields, YamlFaults& faults) {
  std::vector<SeedFile> seeds;
  const YamlNode* list = fields.find("seed");
  if (list == nullptr) return seeds;
  if (list->kind != YamlNode::Kind::Sequence || list->items.size() > kMostSeeds) {
    faults.add(*list, "seed takes a list of at most 16 files, each {file: PATH, merge: JSON}");
    return seeds;
  }
  for (const base::YamlPointer& item : list->items) {
    YamlFields seed(*item, "seed", faults);
    const std::string path = seed.needText("file").value_or("");
    const std::string json = seed.needText("merge").value_or("");
    seed.finish();
    if (path.empty() || json.empty()) continue;
    if (const auto why = whyNoSeedPath(path); !why.empty())
      faults.add(*seed.find("file"), "seed.file: " + base::inQuotes(path) + " " + why);
    if (const auto why = whyNoSeed(json); !why.empty())
      faults.add(*seed.find("merge"), "seed.merge " + why);
    seeds.push_back({path, json});
  }
  return seeds;
}

Preset readFields(YamlFields& fields, YamlFaults& faults) {
  Preset preset;
  fields.needVersion();
  preset.name = fields.needText("name").value_or("");
  preset.summary = fields.text("summary").value_or("");
  const YamlNode* executable = fields.need("executable");
  preset.executables = fields.texts("executable").value_or(preset.executables);
  if (executable != nullptr && executable->items.empty()) {
    faults.add(*executable, "executable takes a list with at least one name");
  }
  preset.arguments = fields.texts("arguments").value_or(preset.arguments);
  preset.prompt_by = readChoice<PromptBy>(
      fields, "prompt", faults,
      {{"none", PromptBy::None}, {"stdin", PromptBy::Stdin}, {"argument", PromptBy::Argument}});
  preset.secret = fields.text("secret").value_or("");
  readVariable(fields, "base_url_env", faults, preset.base_url_env);
  readVariable(fields, "key_env", faults, preset.key_env);
  readVariable(fields, "unix_socket_env", faults, preset.unix_socket_env);
  if (const YamlNode* env = fields.find("env")) preset.env = readEnvironment(*env, "env", faults);
  preset.refuses_root = fields.boolean("refuses_root").value_or(false);
  preset.stop_signal = readChoice<int>(fields, "stop_signal", faults,
                                       {{"TERM", SIGTERM},
                                        {"INT", SIGINT},
                                        {"HUP", SIGHUP},
                                        {"QUIT", SIGQUIT},
                                        {"USR1", SIGUSR1},
                                        {"USR2", SIGUSR2}});
  preset.stop_group =
      readChoice<bool>(fields, "stop_to", faults, {{"process", false}, {"group", true}});
  preset.last_words = readChoice<LastWords>(
      fields, "last_words", faults,
      {{"none", LastWords::None}, {"claude-stream-json", LastWords::ClaudeStreamJson}});
  preset.seeds = readSeeds(fields, faults);
  preset.policy = fields.text("policy").value_or("");
  fields.finish();
  const bool points =
      !preset.base_url_env.empty() || !preset.key_env.empty() || !preset.unix_socket_env.empty();
  if (preset.secret.empty() && points) {
    faults.add(fields.node(),
               "base_url_env, key_env and unix_socket_env need secret: which one they point at");
  }
  return preset;
}

}  // namespace

PresetReading readPresetText(std::string_view text, const std::string& file) {
  YamlFaults faults(file);
  PresetReading reading;
  if (const base::YamlPointer root = base::parseYaml(text, faults)) {
    YamlFields fields(*root, "", faults);
    reading.preset = readFields(fields, faults);
  }
  reading.faults = faults.list();
  return reading;
}

PresetReading readShippedPreset(const std::string& name, const std::string& where) {
  for (const base::EmbeddedFile& file : agent_presets()) {
    if (file.name == name + ".yaml") return readPresetText(file.text, name);
  }
  const std::string sentence = "agent.preset: " + base::inQuotes(name) +
                               " is not shipped (a file is named with a slash, as ./" + name +
                               ".yaml)" + base::suggestion(name, shippedPresetNames());
  return {{}, {{where, sentence}}};
}

std::vector<std::string> shippedPresetNames() {
  std::vector<std::string> names;
  for (const base::EmbeddedFile& file : agent_presets()) {
    names.emplace_back(file.name.substr(0, file.name.rfind('.')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace warder::job
