// Secrets that came in environment variables leave the environment before anything else starts.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"

namespace warder::cli {

inline constexpr const char* kMovedSecretsOption = "--moved-secrets";

/// Where the values went: variable → descriptor to read it from.
using MovedSecrets = std::map<std::string, int>;

/// "NAME=5,OTHER=6" as this binary gave it to itself.
MovedSecrets parseMovedSecrets(const std::string& text);

struct ArgumentVector {
  int count;
  char** words;
};

/// Moves the variables' values into pipes and re-executes this binary without them, so that neither
/// /proc/PID/environ nor any memory of it has them. Returns only on failure; a variable that is not
/// set is an Error of Kind::Config that names it.
base::Error moveSecretsOut(const std::vector<std::string>& variables, ArgumentVector arguments);

}  // namespace warder::cli
