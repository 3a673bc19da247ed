// What this machine says about the paths, descriptors and variables that a job names.
#pragma once
#include <sys/stat.h>

#include <string>
#include <vector>

#include "supervisor/job/job_reader.h"

namespace warder::job {

/// A fault for each path that is not as the job says: missing, unreadable or wrong files, folders
/// that the box must not show, control files and secrets that the agent could write or read.
base::Faults checkFiles(const JobReading& reading);

/// The same for results.to alone: whether the report of a job that is refused may go there.
base::Faults checkCollectors(const JobReading& reading);

/// Why a job that is refused is not believed in where its results go, as half a sentence; empty
/// when it is.
std::string whyResultsDoNotHold(const JobReading& reading);

/// A fault for each descriptor that is not open and each variable that is not set. For the process
/// that was given them; they leave it soon after.
base::Faults checkHandedOver(const JobReading& reading);

/// Control files that lie in the workspace: the agent could change them for the next run.
base::Faults warnAboutFiles(const JobReading& reading);

/// Will the agent be another user of this machine? Only root can do that, and only for a uid that
/// its user namespace maps; otherwise the agent shares the caller's own uid.
/// Source: user_namespaces(7), /proc/PID/uid_map.
bool hasOwnUid(const User& user);

/// May a process with this user read this file, or change it? Owners may, since they can change its
/// mode.
bool canRead(const struct stat& file, const User& user);
bool canWrite(const struct stat& file, const User& user);

/// For root: does the file belong to root, and can nobody else change or replace it? The agent's
/// user need not be known. An ordinary user gives a file's writer nothing that he does not have:
/// always true.
bool onlyRootCanChange(const std::string& path);

/// Why the box must not show this path of the machine; empty when it may. Pure.
std::string whyNotShown(const std::string& path);

/// Why results cannot be left in this folder (absolute); empty when nothing speaks against it.
std::string whyNoResultsIn(const std::string& path);

// What the broker takes as a key (secrets/secret_bytes.h).
inline constexpr std::size_t kMinSecretBytes = 8;
inline constexpr std::size_t kMaxSecretBytes = 64 * 1024;
// What the collector takes as a token (collector/access.h); a file may end in a line end.
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokenBytes = 4096;

}  // namespace warder::job
