#include "supervisor/report/results_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/digest.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/report/fold.h"

namespace warder::report {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr std::size_t kMaxName = 255;  // NAME_MAX
constexpr std::size_t kLargestReport = 4 << 20;

struct Identity {
  std::string run_id;
  std::int64_t attempt = 1;
  std::string folder() const {
    return attempt == 1 ? run_id : run_id + "." + std::to_string(attempt);
  }
};

bool isPlainName(const std::string& name) {
  return !name.empty() && name.size() < 200 && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

Result<Identity> identityOf(const std::string& run_dir) {
  auto json = journal::readIdentity(run_dir);
  if (!json) return json.error();
  Identity identity{textOf(*json, "run_id"), numberOf(*json, "attempt")};
  if (!isPlainName(identity.run_id) || identity.attempt < 1)
    return Error{Kind::Config, run_dir + "/run.json names no run and attempt"};
  return identity;
}

/// Makes (if need be) and opens one folder below another; a link is no folder.
Result<UniqueFd> enter(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return kernelError("cannot make the folder " + name);
  auto folder = base::openAt(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (folder) (void)::fchmod(folder->get(), kFolderMode);
  return folder;
}

struct Copy {
  std::string from;    // absolute
  std::string name;    // below the folder
  std::string sha256;  // expected, or empty
  std::uint64_t at_most = std::numeric_limits<std::uint64_t>::max();
};

Status copyInto(int folder, const Copy& copy) {
  auto in = base::openFile(copy.from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!in) return in.error();
  struct stat facts {};
  if (::fstat(in->get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return Error{Kind::Config, copy.from + " is no regular file"};
  if (static_cast<std::uint64_t>(facts.st_size) > copy.at_most) return {};  // it stays in the spool
  auto out = base::openAt(folder, copy.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kFileMode);
  if (!out) return out.error();
  (void)::fchmod(out->get(), kFileMode);
  journal::Sha256 digest;
  std::vector<char> buffer(256 * 1024);
  for (;;) {
    const ssize_t count = ::read(in->get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return kernelError("cannot read " + copy.from);
    if (count == 0) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    digest.update(bytes);
    if (auto written = base::writeAll(out->get(), bytes); !written)
      return written.error().during(copy.name);
  }
  if (!copy.sha256.empty() && digest.hex() != copy.sha256)
    return Error{Kind::Config, copy.from + " is not what the journal says it is"};
  return {};
}

std::vector<std::string> partsOf(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    parts.push_back(path.substr(from, slash - from));
    from = slash + 1;
  }
  return parts;
}

bool canBeFile(const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && part != "." && part != ".." && part.size() <= kMaxName &&
           part.find('\0') == std::string::npos;
  });
}

/// One artifact under its own path; by its digest where that path cannot be had.
Status copyArtifact(int folder, const std::string& run_dir, const json::object& artifact) {
  const std::string digest = textOf(artifact, "sha256");
  if (!digest.starts_with("sha256:") || !journal::isHexDigest(digest.substr(7)))
    return Error{Kind::Config, "an artifact has no digest"};
  const std::string hex = digest.substr(7);
  Copy copy{run_dir + "/" + journal::kBlobFolder + "/" + hex, hex, hex};
  auto parts = partsOf(textOf(artifact, "path"));
  if (canBeFile(parts)) {
    auto here = enter(folder, "artifacts");
    for (std::size_t i = 0; here && i + 1 < parts.size(); ++i) here = enter(here->get(), parts[i]);
    copy.name = parts.back();
    if (here) {
      auto copied = copyInto(here->get(), copy);
      const int code = copied ? 0 : copied.error().system_errno;
      if (code != EEXIST && code != EISDIR && code != ENAMETOOLONG) return copied;
    }
    copy.name = hex;
  }
  auto by_digest = enter(folder, "artifacts-by-digest");
  if (!by_digest) return by_digest.error();
  auto copied = copyInto(by_digest->get(), copy);
  if (!copied && copied.error().system_errno == EEXIST) return {};  // the same bytes
  return copied;
}

Status copyAll(int folder, const std::string& run_dir, std::uint64_t largest_log) {
  auto fold = replay(run_dir);
  if (!fold) return fold.error();
  const std::string output = run_dir + "/" + journal::kOutputFolder;
  std::vector<Copy> copies{{run_dir + "/" + journal::kReportFile, "report.json", ""},
                           {run_dir + "/" + journal::kIdentityFile, "run.json", ""},
                           {output + "/stdout", "stdout.log", "", largest_log},
                           {output + "/stderr", "stderr.log", "", largest_log}};
  const std::string patch = textOf(fold->witnesses().patch, "sha256");
  if (patch.starts_with("sha256:") && journal::isHexDigest(patch.substr(7)))
    copies.push_back({run_dir + "/" + journal::kBlobFolder + "/" + patch.substr(7), "changes.patch",
                      patch.substr(7)});
  for (const auto& copy : copies) {
    auto copied = copyInto(folder, copy);
    // Streams are missing when the agent never started; the rest must be there.
    const bool may_miss = copy.name.ends_with(".log");
    if (!copied && !(may_miss && copied.error().kind == Kind::NotFound)) return copied;
  }
  for (const auto& artifact : fold->witnesses().artifacts)
    if (auto copied = copyArtifact(folder, run_dir, artifact); !copied) return copied;
  return {};
}

/// Whether a folder that is already there holds the same run and attempt.
bool isSameRun(int target, const Identity& identity) {
  auto file =
      base::openAt(target, identity.folder() + "/run.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return false;
  auto text = base::readAll(file->get(), kLargestReport);
  auto value = text ? base::parseJson(*text) : Result<json::value>(text.error());
  if (!value || !value->is_object()) return false;
  return textOf(value->as_object(), "run_id") == identity.run_id &&
         numberOf(value->as_object(), "attempt") == identity.attempt;
}

/// Removes a folder that this room made; remove_all deletes links and does not follow them.
void removeTree(const std::string& target_dir, const std::string& name) {
  std::error_code ignored;  // what cannot be removed is seen by the next step
  std::filesystem::remove_all(std::filesystem::path(target_dir) / name, ignored);
}

Status moveIntoPlace(const std::string& target_dir, int target, const Identity& identity,
                     const std::string& fresh) {
  const std::string name = identity.folder(), old = "." + name + ".old";
  struct stat there {};
  if (::fstatat(target, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!isSameRun(target, identity))
      return Error{Kind::Config, target_dir + "/" + name + " is there and belongs to another run"};
    removeTree(target_dir, old);
    if (::renameat(target, name.c_str(), target, old.c_str()) != 0)
      return kernelError("cannot replace " + target_dir + "/" + name);
  }
  if (::renameat(target, fresh.c_str(), target, name.c_str()) != 0)
    return kernelError("cannot name " + target_dir + "/" + name);
  removeTree(target_dir, old);
  return {};
}

}  // namespace

Status exportResults(const std::string& run_dir, const std::string& target_dir,
                     std::uint64_t largest_log) {
  auto identity = identityOf(run_dir);
  if (!identity) return identity.error();
  std::error_code failure;
  std::filesystem::create_directories(target_dir, failure);
  auto target = base::openFile(target_dir, O_RDONLY | O_DIRECTORY);
  if (!target) return target.error();
  const std::string fresh = "." + identity->folder() + ".new";
  removeTree(target_dir, fresh);
  if (::mkdirat(target->get(), fresh.c_str(), kFolderMode) != 0)
    return kernelError("cannot make the folder " + target_dir + "/" + fresh);
  auto folder = enter(target->get(), fresh);
  auto copied = folder ? copyAll(folder->get(), run_dir, largest_log) : Status(folder.error());
  if (copied) copied = moveIntoPlace(target_dir, target->get(), *identity, fresh);
  if (!copied) removeTree(target_dir, fresh);
  return copied;
}

}  // namespace warder::report
