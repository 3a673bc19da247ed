// A box on this machine, from outside: starts init in namespaces of its own and waits for it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/cli/run_view.h"
#include "supervisor/init/init_config.h"

namespace warder::cli {

struct BoxInput {
  init::InitConfig config;  // descriptors in it are filled in by runBox
  std::vector<base::UniqueFd> secrets;
  std::vector<base::UniqueFd>& tokens;  // closed once init has them
};

/// Runs one box to its end and shows it; SIGTERM and SIGINT go on to init. Returns init's exit
/// code. Errors: Kernel when the box could not be made; Internal when init died by a signal.
base::Result<int> runBox(BoxInput input, RunView& view);

}  // namespace warder::cli
