// Everything by which an agent comes to trust the run's CA, for each kind of place.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/launch/trust_environment.h"
#include "supervisor/launch/trust_files.h"

namespace warder::launch {

struct TrustOrder {
  std::string ca_pem;               // the run's CA
  std::vector<std::string> extras;  // PEM texts of the job's further CAs
  Variables job_env;
  Variables inherited;            // empty in a box, which inherits nothing
  std::vector<std::string> path;  // where programs are looked up, for those that cannot be covered
  bool transparent = true;        // see TrustRequest
  std::uint16_t proxy_port = 0;
};

struct PreparedTrust {
  Trust trust;
  std::string folder;            // as the agent sees it
  TrustEnvironment environment;  // its warnings are all there are: for preflight and report
};

/// For a box with a root of its own: `trust` goes to BoxRoot, `environment` to BoxFacts. The roots
/// are those of `image` (a folder; "/" for this machine's programs), or this machine's where the
/// image has none. Errors: Config, Kernel; the run must not start.
base::Result<PreparedTrust> trustForBox(const TrustOrder& order, const std::string& image);

/// For a run in place: the files are written into a folder of their own, and nothing else of the
/// place is changed. Files that inherited variables name are trusted further. Errors: as above.
base::Result<PreparedTrust> trustInPlace(const TrustOrder& order, const std::string& run_id);

}  // namespace warder::launch
