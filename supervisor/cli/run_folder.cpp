#include "supervisor/cli/run_folder.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "supervisor/base/event.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"
#include "supervisor/init/control_door.h"
#include "supervisor/job/box_view.h"
#include "supervisor/job/job_files.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/launch/confine.h"

#ifndef WARDER_VERSION
#define WARDER_VERSION "0.1.0"
#endif

namespace warder::cli {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
namespace json = base::json;
namespace fs = std::filesystem;

std::string newRunId() {
  using namespace std::chrono;
  std::array<unsigned char, 16> id{};
  while (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
  }
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  for (int i = 0; i < 6; ++i)
    id[static_cast<std::size_t>(i)] = static_cast<unsigned char>(now >> (40 - 8 * i));
  id[6] = static_cast<unsigned char>((id[6] & 0x0f) | 0x70);
  id[8] = static_cast<unsigned char>((id[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < id.size(); ++i) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%02x", id[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex;
  }
  return text;
}

std::string defaultSpool() {
  if (const char* named = ::getenv("WARDER_SPOOL"); named != nullptr && *named != '\0')
    return named;
  if (::geteuid() == 0) return "/var/lib/warder/spool";
  const char* state = ::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/warder/spool";
  const char* home = ::getenv("HOME");
  return std::string(home != nullptr ? home : "/tmp") + "/.local/state/warder/spool";
}

namespace {

Status writeJson(const std::string& path, const json::object& object) {
  auto file = base::openFile(path, O_WRONLY | O_CREAT | O_EXCL, 0640);
  if (!file) return file.error();
  if (auto written = base::writeAll(file->get(), json::serialize(object) + "\n"); !written)
    return written.error().during(path);
  return {};  // init syncs it, while others start
}

json::object sinksOf(const job::JobSpec& job) {
  json::array sinks;
  for (const auto& sink : job.results.to)
    sinks.push_back({{"collector", sink.url}, {"ca_file", sink.ca_file}});
  return {{"sinks", std::move(sinks)}};
}

}  // namespace

Status checkSpool(const std::string& spool, const job::JobSpec& job) {
  if (spool.empty()) return Error{Kind::Config, "--spool names no folder"};
  std::error_code failure;
  const fs::path real = fs::weakly_canonical(fs::absolute(spool, failure), failure);
  const fs::path workspace = fs::weakly_canonical(job.agent.workspace, failure);
  const std::string advice = "; name another with --spool or WARDER_SPOOL";
  if (job::isBelow(real.string(), workspace.string()))
    return Error{
        Kind::Config,
        "the spool " + spool + " lies in the workspace, where the agent could change it" + advice};
  if (job.agent.root != "/" || !job::hasOwnUid(job.agent.user) || job.agent.user.uid == 0)
    return {};
  for (fs::path at = real;; at = at.parent_path()) {
    struct stat folder {};
    const bool there = ::stat(at.c_str(), &folder) == 0;
    // In a sticky folder only the owner of an entry can replace it.
    const bool sticky = (folder.st_mode & S_ISVTX) != 0 && folder.st_uid != job.agent.user.uid;
    if (there && !sticky && job::canWrite(folder, job.agent.user))
      return Error{Kind::Config, "the spool " + spool + " lies in " + at.string() +
                                     ", which the agent's uid " +
                                     std::to_string(job.agent.user.uid) + " can write" + advice};
    if (at == at.parent_path()) return {};
  }
}

Result<std::string> makeRunFolder(const std::string& spool, const std::string& run_id,
                                  const job::JobSpec& job) {
  std::error_code failure;
  const std::string folder = fs::absolute(spool).string() + "/" + run_id;
  fs::create_directories(folder, failure);
  if (failure)
    return Error{Kind::Kernel,
                 "cannot make the spool folder " + folder +
                     " (mount a volume there, or name another with --spool or "
                     "WARDER_SPOOL)",
                 failure.value()};
  // The spool's group comes first, so that files made below inherit it.
  if (launch::mayChangeIds() && ::chown(folder.c_str(), launch::kScribeUid, launch::kSpoolGid) != 0)
    return kernelError("cannot give " + folder + " to the scribe");
  const mode_t mode = job.agent.root == "/" ? 02751 : 02750;
  if (::chmod(folder.c_str(), mode) != 0) return kernelError("cannot set the mode of " + folder);
  const json::object identity = {{"run_id", run_id},
                                 {"attempt", 1},
                                 {"created", base::timestamp(std::chrono::system_clock::now())},
                                 {"job", job.file},
                                 {"warder", WARDER_VERSION}};
  if (auto w = writeJson(folder + "/" + journal::kIdentityFile, identity); !w) return w.error();
  if (auto w = writeJson(folder + "/" + journal::kDeliveryFile, sinksOf(job)); !w) return w.error();
  for (const char* name : {"/root", "/harvest"})
    if (::mkdir((folder + name).c_str(), 0700) != 0)
      return kernelError("cannot make " + folder + name);
  return folder;
}

void tidyRunFolder(const std::string& run_dir) {
  std::error_code failure;
  fs::remove(run_dir + "/" + init::kControlSocket, failure);  // of an init that was killed
  fs::remove(run_dir + "/root", failure);
  if (failure) base::log(base::Level::Warn, "cannot remove " + run_dir + "/root");
  fs::remove_all(run_dir + "/harvest", failure);
  if (failure) base::log(base::Level::Warn, "cannot remove " + run_dir + "/harvest");
}

}  // namespace warder::cli
