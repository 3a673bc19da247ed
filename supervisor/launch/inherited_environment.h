// What an agent gets of a container's environment. Pure.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace warder::launch {

struct InheritedEnvironment {
  std::map<std::string, std::string> passed;
  /// Names that speak of a credential (A_TOKEN, PGPASSWORD, …) and values with a login in a URL: a
  /// job that means one of them writes it into agent.env. Sorted.
  std::vector<std::string> held_back;
  /// Names of variables that make programs run code which nobody named (LD_PRELOAD, NODE_OPTIONS,
  /// …). Held back likewise. Sorted.
  std::vector<std::string> loaders;
};

/// Everything of `environment` ("NAME=value") but the variables in `secret`, which the job's own
/// secrets come from, those whose names speak of a credential, those that load code, and Warder's
/// own.
InheritedEnvironment siftEnvironment(const std::vector<std::string>& environment,
                                     const std::vector<std::string>& secret);

}  // namespace warder::launch
