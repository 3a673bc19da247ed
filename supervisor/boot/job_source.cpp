#include "supervisor/boot/job_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/base/fd.h"
#include "supervisor/boot/file_steps.h"
#include "supervisor/boot/ports.h"

namespace warder::boot {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr int kDeviceWithinMs = 5000;
constexpr int kSilenceMs = 30'000;  // of a port
constexpr int kNobodyMs = 20;

/// Headers and padding come on top of the contents.
constexpr std::size_t kMostArchiveBytes = kMostJobBytes + 1024 * (2 * kMostJobFiles + 2);

Result<std::vector<ArchiveFile>> fetchFiles(const Settings& settings) {
  if (!settings.job_text.empty()) return std::vector<ArchiveFile>{{kJobFile, settings.job_text}};
  std::string device = settings.job_device;
  std::string from = "warder.job=" + device;
  if (device.empty()) {
    from = "warder.job=virtio:" + settings.job_port;
    (void)waitFor([&] { return bool(findPort(settings.job_port)); }, kDeviceWithinMs);
    auto port = findPort(settings.job_port);
    if (!port) return port.error().during(from);
    device = *port;
  } else if (!waitFor([&] { return ::access(device.c_str(), R_OK) == 0; }, kDeviceWithinMs)) {
    return Error{Kind::NotFound, from + ": the machine has no such disk"};
  }
  auto opened = base::openFile(device, O_RDONLY | O_NONBLOCK);
  if (!opened) return opened.error().during(from);
  return readArchive(opened->get(), from);
}

Status layDown(const std::vector<ArchiveFile>& files) {
  for (const auto& file : files) {
    const std::string path = std::string(kJobFolder) + "/" + file.path;
    if (auto made = makeFoldersTo(path, 0700); !made) return made;
    if (auto written = writeText(path, file.content, 0600); !written) return written;
  }
  return {};
}

}  // namespace

Result<std::vector<ArchiveFile>> readArchive(int fd, const std::string& from) {
  ArchiveReader reader;
  std::string buffer(std::size_t{64} * 1024, '\0');
  std::size_t total = 0;
  // A port without anybody at its other end reads as ended, until somebody comes.
  struct stat kind {};
  const bool talks = ::fstat(fd, &kind) == 0 && S_ISCHR(kind.st_mode);
  int patience = kSilenceMs / kNobodyMs;
  while (!reader.complete()) {
    const auto size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      pollfd readable{fd, POLLIN, 0};
      if (::poll(&readable, 1, kSilenceMs) == 0)
        return Error{Kind::Timeout, from + ": nothing came for 30 s, and the archive has no end"};
      continue;
    }
    if (size < 0) return kernelError(from + " cannot be read");
    if (size == 0) {
      if (!talks || --patience < 0)
        return Error{Kind::Config, from + ": ends before the archive does"};
      ::poll(nullptr, 0, kNobodyMs);
      continue;
    }
    if (auto fed = reader.feed({buffer.data(), static_cast<std::size_t>(size)}); !fed)
      return fed.error().during(from);
    total += static_cast<std::size_t>(size);
    if (total > kMostArchiveBytes) return Error{Kind::Config, from + ": is too long for a job"};
  }
  if (reader.empty()) return Error{Kind::Config, from + ": is empty"};
  return reader.files();
}

Result<std::optional<std::string>> fetchJob(const Settings& settings) {
  if (settings.job_text.empty() && settings.job_device.empty() && settings.job_port.empty())
    return std::optional<std::string>();
  auto files = fetchFiles(settings);
  if (!files) return files.error();
  const bool has_job = std::any_of(files->begin(), files->end(),
                                   [](const ArchiveFile& file) { return file.path == kJobFile; });
  if (!has_job) return Error{Kind::Config, "the job's archive holds no job.yaml at its top"};
  const MountStep step{"tmpfs", "job", kJobFolder, MS_NOSUID | MS_NODEV | MS_NOEXEC,
                       "mode=0700,size=32m"};
  if (auto mounted = mountOn(step); !mounted) return mounted.error();
  if (auto laid = layDown(*files); !laid) return laid.error();
  return std::optional<std::string>(std::string(kJobFolder) + "/" + kJobFile);
}

}  // namespace warder::boot
