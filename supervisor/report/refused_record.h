// The record of a run that was refused before anything of it started.
#pragma once
#include <boost/json.hpp>
#include <string>

#include "supervisor/base/fault.h"
#include "supervisor/base/result.h"

namespace warder::report {

struct Refusal {
  std::string step;  // as in setup.failed (docs/events.md): what could not be had
  base::Faults faults;
};

/// The data of setup.failed: step, sentence (the first fault's, and how many more there are),
/// errno, faults[{where, sentence}] (the first kMostRefusalFaults) and faults_total. Pure.
boost::json::object describeRefusal(const Refusal& refusal);

inline constexpr std::size_t kMostRefusalFaults = 32;

/// Writes the journal of RUN_DIR, which holds run.json and no journal yet: run.started with
/// `start`, setup.failed, run.finished; then report.json, the fold over them, as for any other run.
/// Errors: Kernel, Config.
base::Status recordRefusal(const std::string& run_dir, boost::json::object start,
                           const Refusal& refusal);

}  // namespace warder::report
