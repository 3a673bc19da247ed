// What `warder run` tells init at its start.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "supervisor/base/event.h"

namespace warder::init {

struct InitConfig {
  std::string run_id;
  /// Who made the box: "run" (warder run: namespaces and a root of our own), or in place
  /// "container" and "microvm".
  std::string engine = "run";
  int attempt = 1;
  std::string run_dir;   // SPOOL/RUN_ID
  std::string job_file;  // read again by init; its digest must still be `job_digest`
  std::string job_digest;
  std::string workspace;             // overrides the job's when not empty
  std::string rootfs;                // likewise
  std::vector<std::string> command;  // likewise
  bool one_id = false;               // only the caller's own uid is mapped in this box
  std::string home;                  // the caller's, for programs that are asked for secrets
  std::vector<int> secret_fds;       // in the order of JobSpec::secrets, unread
  std::vector<int> token_fds;        // in the order of ResultsSpec::to, unread
  /// After a signal to stop, whoever sent it kills everything so much later (docker stop: 10 s);
  /// 0: nobody does.
  std::chrono::milliseconds stop_within{0};
  /// Folder of a cgroup v2 that is ours: below it are broker, workload/agent and workload/tools.
  /// Empty where there is none.
  std::string cgroups;
  /// What the boot of a microVM has to say of the place; it takes the place of our own look at it.
  std::vector<std::string> boot_warnings;

  bool inPlace() const { return engine != "run"; }
};

base::json::object toJson(const InitConfig& config);
/// Throws boost::system::system_error when `object` is none.
InitConfig initConfigFromJson(const base::json::object& object);

/// The stage: conducts one run from its start to its delivery. To `warder run` it sends
/// {"event": …} for each event (dropped when nobody reads) and returns the run's exit code.
int initMain();

}  // namespace warder::init
