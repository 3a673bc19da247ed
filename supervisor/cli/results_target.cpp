#include "supervisor/cli/results_target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace warder::cli {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::UniqueFd;
namespace fs = std::filesystem;

namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY;

/// `folder` as a path below `top`, both cleaned of "." and ".."; empty when it is not below.
fs::path below(const fs::path& top, const fs::path& folder) {
  const fs::path relative = folder.lexically_normal().lexically_relative(top.lexically_normal());
  return relative.empty() || *relative.begin() == ".." ? fs::path() : relative;
}

Result<UniqueFd> walkWithoutLinks(const std::string& top, const fs::path& relative) {
  auto here = base::openFile(top, kFolder);
  for (const auto& part : relative) {
    if (!here) return here;
    if (part == "." || part.empty()) continue;
    if (::mkdirat(here->get(), part.c_str(), 0755) != 0 && errno != EEXIST)
      return kernelError("cannot make the folder " + part.string());
    here = base::openAt(here->get(), part.string(), kFolder | O_NOFOLLOW);
  }
  return here;
}

Result<UniqueFd> openFolder(const std::string& wanted, const std::string& shared) {
  const auto relative = below(shared, wanted);
  if (!relative.empty()) return walkWithoutLinks(shared, relative);
  std::error_code failure;
  const auto real_top = fs::canonical(shared, failure);
  const auto real = fs::weakly_canonical(wanted, failure);
  if (!failure && !below(real_top, real).empty())
    return Error{Kind::Config,
                 "it leads into the workspace by a link; name it as a path below agent.workspace"};
  fs::create_directories(wanted, failure);
  if (failure) return Error{Kind::Kernel, "cannot be made", failure.value()};
  return base::openFile(wanted, kFolder);
}

}  // namespace

Result<UniqueFd> openResultsFolder(const job::JobSpec& job) {
  return openResultsFolder(job.results.directory, job.agent.workspace);
}

Result<UniqueFd> openResultsFolder(const std::string& directory, const std::string& shared) {
  const std::string activity = "the results folder " + directory;
  auto folder = openFolder(directory, shared);
  if (!folder) return folder.error().during(activity);
  if (::faccessat(folder->get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return kernelError(activity + " cannot be written");
  return folder;
}

std::string pathOf(const UniqueFd& folder) {
  return "/proc/self/fd/" + std::to_string(folder.get()) + "/.";
}

}  // namespace warder::cli
