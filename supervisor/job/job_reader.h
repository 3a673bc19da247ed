// A job file to a JobSpec. Reading is pure but for the files it is told to read; what the machine
// says about the paths is asked in job_files.h.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fault.h"
#include "supervisor/base/result.h"
#include "supervisor/base/yaml_document.h"
#include "supervisor/job/job_spec.h"

namespace warder::job {

/// What the command line says instead of the job file; empty means: as the file says.
struct Overrides {
  std::string workspace;             // relative ones: to the current folder
  std::string rootfs;                // likewise
  std::string results;               // likewise
  std::vector<std::string> command;  // runs instead of the agent's; gets no prompt
  /// The job runs where it is read, in a container or a machine of its own: no box is built, the
  /// agent sees everything under its own name, and programs are looked up in `path`.
  bool in_place = false;
  std::vector<std::string> path;
  std::optional<User> user;  // whoever the agent must be, where it can be nobody else
};

/// The policy that the job asks for; the policies room reads it.
struct PolicyAsk {
  enum class From { Nothing, Shipped, File, Inline };
  From from = From::Nothing;  // Nothing: an empty policy
  std::string name;           // Shipped: name; File: absolute path
  base::YamlPointer node;     // Inline: the mapping
  std::string where;          // "file:line:column" of the asking line
};

struct JobReading {
  JobSpec job;  // to be used only when `faults` is empty
  PolicyAsk policy;
  std::string preset_file;  // absolute; empty for a shipped preset
  base::Faults faults;
  base::Faults warnings;
  std::map<std::string, std::string> places;  // dotted key → "file:line:column"
  /// The job says where its results go, or that it is the default, without a fault.
  bool results_sound = false;

  /// Where a key stands: its own place, else the file.
  std::string placeOf(const std::string& key) const;
};

using FileReader = std::function<base::Result<std::string>(const std::string& path)>;

struct JobInput {
  std::string_view text;
  std::string file;  // absolute; relative paths in the job are below its folder
  Overrides overrides;
  FileReader read_file;  // for prompt_file and a preset of the user's own
};

/// All faults at once. Touches no file but through `read_file`.
JobReading readJobText(const JobInput& input);

/// Reads the file at `path` (at most 1 MiB) and what it names. A file that cannot be read is one
/// fault.
JobReading readJob(const std::string& path, const Overrides& overrides = {});

/// Where results go when the job cannot say: as the command line says, else beside the job file.
std::string resultsWithoutJob(const std::string& path, const Overrides& overrides);

/// Variables of this process's environment that hold secrets, sorted and each once.
std::vector<std::string> secretVariables(const JobSpec& job);

/// JSON Schema (2020-12) of a job file. It refers to policies::policySchema() by its $id.
std::string_view jobSchema();

}  // namespace warder::job
