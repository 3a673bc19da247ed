// How a known agent is started: shipped (image/agents) or a file of the user's own.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fault.h"
#include "supervisor/job/job_spec.h"

namespace warder::job {

/// Seed files of a preset, and the bytes of one.
inline constexpr std::size_t kMostSeeds = 16;
inline constexpr std::size_t kLargestSeed = 64 * 1024;

struct Preset {
  std::string name;
  std::string summary;
  std::vector<std::string> executables;  // names to look up, in order
  std::vector<std::string> arguments;
  PromptBy prompt_by = PromptBy::None;
  std::string secret;  // the job's secret whose door the agent is pointed at; may be empty
  std::string base_url_env;
  std::string key_env;
  std::string unix_socket_env;
  std::map<std::string, std::string> env;
  bool refuses_root = false;
  int stop_signal = 15;
  bool stop_group = false;
  LastWords last_words = LastWords::None;
  std::vector<SeedFile> seeds;
  std::string policy;  // shipped policy that a job without one gets; empty: nothing is allowed
};

struct PresetReading {
  Preset preset;
  base::Faults faults;  // usable only when empty
};

PresetReading readPresetText(std::string_view text, const std::string& file);
/// One that is compiled in; an unknown name is a fault at `where` with the nearest known one.
PresetReading readShippedPreset(const std::string& name, const std::string& where);
/// Names of the presets that are compiled in, sorted.
std::vector<std::string> shippedPresetNames();

/// [A-Za-z_][A-Za-z0-9_]*, at most 128 bytes.
bool isVariableName(std::string_view name);

}  // namespace warder::job
