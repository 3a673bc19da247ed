#include "supervisor/job/job_reader.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "supervisor/base/embedded.h"
#include "supervisor/base/regular_file.h"
#include "supervisor/job/digest.h"
#include "supervisor/job/fields.h"
#include "supervisor/job/sections.h"

namespace warder::job {

std::span<const base::EmbeddedFile> job_schemas();

namespace {

using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

constexpr std::uint64_t kDefaultResults = 1ULL << 30;
constexpr const char* kDefaultFolder = "warder-results";
constexpr std::size_t kLargestNamedFile = 4UL * 1024 * 1024;  // prompt_file and presets

void readSections(const YamlNode& root, Draft& draft) {
  YamlFields fields(root, "", draft.faults);
  fields.needVersion();
  if (const YamlNode* node = fields.need("agent")) readAgent(*node, draft);
  if (const YamlNode* node = fields.find("secrets")) readSecrets(*node, draft);
  if (const YamlNode* node = fields.find("policy")) readPolicyAsk(*node, draft);
  if (const YamlNode* node = fields.find("memory")) readMemory(*node, draft);
  if (const YamlNode* node = fields.find("limits")) readLimits(*node, draft);
  const std::size_t before = draft.faults.list().size();
  if (const YamlNode* node = fields.find("results")) readResults(*node, draft);
  const bool sound = draft.faults.list().size() == before && before < base::kMostFaults;
  draft.reading.results_sound = draft.reading.results_sound && sound;
  fields.finish();
  checkTogether(draft);
}

std::string absoluteFromHere(const std::string& path) {
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored).string();
  return absolutePath(here, path);
}

void addVariable(const HandedSource& source, std::vector<std::string>& variables) {
  if (const auto* env = std::get_if<EnvSource>(&source)) variables.push_back(env->variable);
}

}  // namespace

std::string JobReading::placeOf(const std::string& key) const {
  const auto found = places.find(key);
  return found == places.end() ? job.file : found->second;
}

JobReading readJobText(const JobInput& input) {
  JobReading reading;
  reading.job.file = input.file;
  reading.job.digest = digestOf(input.text);
  const std::string folder = std::filesystem::path(input.file).parent_path().string();
  reading.job.results.directory = absolutePath(folder, kDefaultFolder);
  reading.job.results.max_size = kDefaultResults;
  YamlFaults faults(input.file);
  if (const base::YamlPointer root = base::parseYaml(input.text, faults)) {
    // A key that stands twice could be one that names where results go.
    reading.results_sound = faults.empty();
    Draft draft{input, folder, faults, reading, {}, false};
    readSections(*root, draft);
  }
  if (!input.overrides.results.empty()) {
    reading.job.results.directory = input.overrides.results;
  }
  const base::Faults own = faults.list();
  reading.faults.insert(reading.faults.end(), own.begin(), own.end());
  return reading;
}

JobReading readJob(const std::string& path, const Overrides& overrides) {
  const std::string file = absoluteFromHere(path);
  const auto text = base::readRegularFile(file, base::kMaxYamlBytes);
  if (!text) {
    JobReading reading;
    reading.job.file = file;
    reading.faults.push_back({file, "the job: " + text.error().sentence()});
    return reading;
  }
  JobInput input{*text, file, overrides, [](const std::string& named) {
                   return base::readRegularFile(named, kLargestNamedFile);
                 }};
  if (!overrides.workspace.empty()) {
    input.overrides.workspace = absoluteFromHere(overrides.workspace);
  }
  if (!overrides.rootfs.empty()) input.overrides.rootfs = absoluteFromHere(overrides.rootfs);
  if (!overrides.results.empty()) input.overrides.results = absoluteFromHere(overrides.results);
  return readJobText(input);
}

std::string resultsWithoutJob(const std::string& path, const Overrides& overrides) {
  if (!overrides.results.empty()) return absoluteFromHere(overrides.results);
  const auto folder = std::filesystem::path(absoluteFromHere(path)).parent_path();
  return absolutePath(folder.string(), kDefaultFolder);
}

std::vector<std::string> secretVariables(const JobSpec& job) {
  std::vector<std::string> variables;
  for (const SecretSpec& secret : job.secrets)
    if (const auto handed = handedOf(secret.from)) addVariable(*handed, variables);
  for (const CollectorSpec& collector : job.results.to) addVariable(collector.token, variables);
  std::sort(variables.begin(), variables.end());
  variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  return variables;
}

std::string_view jobSchema() {
  return job_schemas().front().text;
}

}  // namespace warder::job
