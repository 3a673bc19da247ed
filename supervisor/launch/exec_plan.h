// What the exec stage does, step by step, before a program of the agent's world runs. Made by init
// (planner.h), sent as the stage's configuration.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/launch/seed_files.h"

namespace warder::launch {

/// Descriptors of the exec stage by number; -1 means none.
struct ExecFds {
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;
  int network_namespace = -1;
  int stage_config = -1;  // with `own_stage`: becomes the stage's base::kConfigFd
  int stage_extra = -1;   // with `own_stage`: becomes base::kFirstExtraFd
  int cgroup = -1;        // cgroup.procs of the cgroup that the program runs in
};

struct ExecPlan {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_directory;
  std::string root;          // folder that becomes "/"; empty: in place, the root is kept
  std::string private_from;  // a folder of this machine that only this program sees …
  std::string private_to;    // … at this place below `root`
  uid_t uid = 0;
  gid_t gid = 0;
  bool one_id = false;  // no other uid can be used: under a root of its own the identity is taken
                        // in a new user namespace, in place it is what this process has
  mode_t umask = 022;
  bool own_stage = false;   // run this binary's stage argv[0] instead of a program of the image
  std::string home;         // tried by creating and renaming a file in it; empty: not tried
  std::vector<Seed> seeds;  // then made or completed below it
  ExecFds fds;
};

base::json::object toJson(const ExecPlan& plan);
/// Throws boost::system::system_error when `object` is no plan.
ExecPlan execPlanFromJson(const base::json::object& object);

/// The stage: follows its plan and becomes the program. Returns only when a step failed, after the
/// step's name and reason went to the control socket. Returns 126 or 127 when the program could not
/// be executed (not executable, not found), 125 when an earlier step failed.
int execMain();

}  // namespace warder::launch
