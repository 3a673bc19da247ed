// The sections of a job file, each read on its own. Part of job_reader.h.
#pragma once
#include <map>
#include <string>

#include "supervisor/base/yaml_fields.h"
#include "supervisor/job/job_reader.h"
#include "supervisor/job/preset.h"

namespace warder::job {

// Linux MAX_ARG_STRLEN: one argument or variable, without its final NUL. Source: execve(2).
inline constexpr std::size_t kLongestArgument = 128UL * 1024 - 1;
// All arguments and variables with a NUL and a pointer each. The kernel takes a quarter of the
// stack's limit, 2 MiB by default; half of that leaves room for what the box adds.
inline constexpr std::size_t kMostArguments = 1024UL * 1024;

/// What the readers of sections share.
struct Draft {
  const JobInput& input;
  std::string folder;  // of the job file
  base::YamlFaults& faults;
  JobReading& reading;
  Preset preset;
  bool has_preset = false;

  /// Remembers where a key stands.
  void note(const std::string& key, const base::YamlNode* node);
  void addWarning(const std::string& key, std::string sentence);
};

void readAgent(const base::YamlNode& node, Draft& draft);
void readSecrets(const base::YamlNode& node, Draft& draft);
void readPolicyAsk(const base::YamlNode& node, Draft& draft);
void readMemory(const base::YamlNode& node, Draft& draft);
void readLimits(const base::YamlNode& node, Draft& draft);
void readResults(const base::YamlNode& node, Draft& draft);

/// `models`, `budget` and what else narrows a grant.
void readTerms(base::YamlFields& fields, SecretSpec& secret, Draft& draft);

/// The path of a file, absolute; remembers where the key stands. Empty when it is absent.
std::string readFilePath(base::YamlFields& fields, const std::string& key, Draft& draft);

/// Rules between sections, after all were read.
void checkTogether(Draft& draft);

}  // namespace warder::job
