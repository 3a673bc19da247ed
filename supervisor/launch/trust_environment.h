// Variables by which the agent's programs find the run's certificates, and the proxy where there is
// one. Pure.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace warder::launch {

using Variables = std::map<std::string, std::string>;

struct TrustRequest {
  std::string folder;   // of writeTrustFiles, as the agent sees it
  Variables job_env;    // the job's own, with the preset's
  Variables inherited;  // what the agent would get besides
  /// Every connection of the agent reaches the broker, whatever it was told.
  bool transparent = true;
  std::uint16_t proxy_port = 0;  // the broker's, on 127.0.0.1; used where the network is not
                                 // transparent; 0: there is none
  bool wgetrc = false;           // there is a file for wget
};

struct TrustEnvironment {
  Variables set;                      // wins over the job's own and what is inherited
  std::vector<std::string> unset;     // not to be inherited
  std::vector<std::string> warnings;  // sentences: which variables of the job's own were left
};

/// Variables that replace a program's roots name the merged bundle, those that add to them name
/// what was added (BC-005). What the job says itself is left, and told (BC-004), but for
/// JAVA_TOOL_OPTIONS and NO_PROXY, which are added to. No proxy is named where the network is
/// transparent; otherwise all of them in both cases, the same, without user info (BC-026, BC-109,
/// BC-007).
TrustEnvironment trustEnvironment(const TrustRequest& request);

/// Variables that switch off the check of certificates, or part of it, as sentences that name them
/// (BC-110).
std::vector<std::string> disabledChecks(const Variables& environment);

/// Files of certificates that inherited variables name: what the place was made with is to be
/// trusted further. Each list sorted, each file once.
struct NamedBundles {
  std::vector<std::string> replacing;  // by variables that replace a program's roots
  std::vector<std::string> adding;     // by variables that add to them
};
NamedBundles namedBundles(const Variables& inherited);

/// Those of `programs` (names without folder) that keep certificates of their own, which no
/// variable and no file of the system changes; one sentence each.
std::vector<std::string> uncoveredPrograms(const std::vector<std::string>& programs);
/// All names that uncoveredPrograms knows, to look for.
std::vector<std::string> programsWithOwnRoots();

}  // namespace warder::launch
