// Where the job comes from: a disk, a virtio-serial port, or the kernel command line. All of it
// ends in one folder in memory that only root may enter.
#pragma once
#include <optional>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/boot/archive.h"
#include "supervisor/boot/settings.h"

namespace warder::boot {

inline constexpr const char* kJobFolder = "/run/warder/job";
inline constexpr const char* kJobFile = "job.yaml";

/// Fetches the job that the settings name and lays it down in kJobFolder; the path of its
/// job.yaml, or nothing when the settings name no job. Errors: NotFound (no such disk or port),
/// Timeout (a port fell silent), Config (no archive, beyond the limits, no job.yaml in it), Kernel.
base::Result<std::optional<std::string>> fetchJob(const Settings& settings);

/// Reads from `fd` (a disk, or a port that waits) until the archive's own end. Errors: as above;
/// `from` names the place.
base::Result<std::vector<ArchiveFile>> readArchive(int fd, const std::string& from);

}  // namespace warder::boot
