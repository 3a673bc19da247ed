#include "supervisor/journal/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "supervisor/base/fd.h"
#include "supervisor/journal/digest.h"
#include "supervisor/journal/scribe_protocol.h"

namespace warder::journal {

using base::kernelError;

namespace {

base::Status syncFolder(const std::string& path) {
  auto folder = base::openFile(path, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  if (::fsync(folder->get()) != 0) return kernelError("cannot sync " + path);
  return {};
}

}  // namespace

base::Status makeRunFolders(const std::string& run_dir) {
  for (const char* name : {kJournalFolder, kOutputFolder, kBlobFolder}) {
    const std::string path = run_dir + "/" + name;
    if (::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST)
      return kernelError("cannot make the folder " + path);
  }
  return syncFolder(run_dir);
}

base::Result<std::string> writeJsonFile(const std::string& run_dir, const std::string& name,
                                        const json::object& content) {
  const std::string path = run_dir + "/" + name, fresh = path + ".new";
  const std::string text = json::serialize(content) + "\n";
  auto fd = base::openFile(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0640);
  if (!fd) return fd.error();
  if (auto written = base::writeAll(fd->get(), text); !written) return written.error().during(path);
  if (::fsync(fd->get()) != 0) return kernelError("cannot sync " + path);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return kernelError("cannot name " + path);
  if (auto synced = syncFolder(run_dir); !synced) return synced.error();
  return "sha256:" + sha256Hex(text);
}

}  // namespace warder::journal
