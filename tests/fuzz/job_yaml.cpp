// Hostile bytes as a job file and as a preset: never a crash, never more than bounded work, and a
// job without faults holds to its own limits.
#include <cstdlib>

#include "supervisor/job/job_reader.h"
#include "supervisor/job/preset.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const job::JobReading reading =
      job::readJobText({text, "/jobs/job.yaml", {}, [&](const std::string&) {
                          return base::Result<std::string>(std::string(text));
                        }});
  if (reading.faults.empty()) {
    const job::AgentSpec& agent = reading.job.agent;
    if (agent.command.empty() || agent.workspace.empty() || agent.umask > 0777) std::abort();
    if (agent.tmp_size < 1024 * 1024 || reading.job.secrets.size() > 16) std::abort();
  }
  job::readPresetText(text, "/jobs/preset.yaml");
  return 0;
}
