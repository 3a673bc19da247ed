// The room's doors: what a kernel's first process does before the run and after it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/boot/cgroups.h"
#include "supervisor/boot/network.h"
#include "supervisor/boot/settings.h"

namespace warder::boot {

/// Whether a kernel started this process as its first one: PID 1 of the first pid namespace, whose
/// inode is always the same (PROC_PID_INIT_INO in include/linux/proc_ns.h). Works without a mounted
/// /proc, and shows nobody that it asked.
bool isFirstProcessOfKernel();

/// Whether our root is still the kernel's own root in memory, into which an initramfs was unpacked.
bool isInInitramfs();

/// The initramfs half: modules, root device, overlay, switch of roots, then the root file system's
/// own binary as `BINARY init --microvm`. Whatever fails is one sentence on the console, and the
/// machine ends with outcome `setup`.
[[noreturn]] void startFromInitramfs();

/// In memory; the run's journal lies there.
inline constexpr const char* kSpoolFolder = "/run/warder/spool";

struct Machine {
  Settings settings;
  std::vector<std::string> warnings;  // sentences; each belongs into the report
  Cgroups cgroups;
  Network network;
  std::uint64_t shm_bytes = 0;
  std::optional<std::string> job_file;   // kJobFolder + "/job.yaml"; nothing when none was named
  std::optional<std::string> workspace;  // "/workspace", when a disk was named for it
  base::UniqueFd control;                // a port whose bytes are SIGTERM to us (ports.h), if any
  std::string spool;                     // a folder in memory that this run may use
};

/// The machine half, in the root file system: mounts, devices, control groups, loopback, names,
/// address, clock, entropy, job. Errors: each names the step; the caller ends the machine then.
base::Result<Machine> prepareMachine();

/// What was set up, for an event: host, address, dns ("none" without one), shm_bytes, controllers,
/// clock. Pure.
base::json::object describe(const Machine& machine);

struct Outcome {
  int exit_code = 16;
  std::string sentence;
  std::string report_file;      // report.json; empty when there is none
  std::string on_console = {};  // instead of `sentence`, where its reasons stand there already
};

/// Tells the outcome on the console and, where there is one, on the virtio-serial port
/// "warder.outcome" as one line of JSON {"exit_code", "sentence", "report_bytes"} and then the
/// report's bytes; then ends the machine by warder.end. Ends what is left of other processes first.
[[noreturn]] void endMachine(const Outcome& outcome);

}  // namespace warder::boot
