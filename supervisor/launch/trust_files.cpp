#include "supervisor/launch/trust_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <map>
#include <set>

#include "supervisor/base/fd.h"
#include "supervisor/job/certificates.h"
#include "supervisor/launch/bind_mount.h"
#include "supervisor/launch/trust_java.h"

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

std::string base64Of(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) {
      return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U;
    };
    const unsigned bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += kDigits[bits >> 18];
    text += kDigits[bits >> 12 & 63];
    text += at + 1 < bytes.size() ? kDigits[bits >> 6 & 63] : '=';
    text += at + 2 < bytes.size() ? kDigits[bits & 63] : '=';
  }
  return text;
}

std::string pemOf(const std::string& certificate) {
  constexpr std::size_t kLine = 64;  // RFC 7468
  const std::string text = base64Of(certificate);
  std::string pem = "-----BEGIN CERTIFICATE-----\n";
  for (std::size_t at = 0; at < text.size(); at += kLine) pem += text.substr(at, kLine) + "\n";
  return pem + "-----END CERTIFICATE-----\n";
}

/// Certificates of several texts, each once.
class Roots {
 public:
  /// False when the text is no whole PEM with at least one certificate.
  bool add(const std::string& pem) {
    const auto found = job::certificatesOf(pem);
    if (!found || found->empty()) return false;
    for (const auto& certificate : *found)
      if (known_.insert(certificate).second) certificates_.push_back(certificate);
    return true;
  }
  std::string pem() const {
    std::string text;
    for (const auto& certificate : certificates_) text += pemOf(certificate);
    return text;
  }
  const std::vector<std::string>& certificates() const { return certificates_; }

 private:
  std::set<std::string> known_;
  std::vector<std::string> certificates_;
};

Error unreadable(const std::string& what) {
  return Error{Kind::Config, what + " is no whole PEM text of certificates", 0};
}

/// Below `root`, with links read as a process would whose root it is.
Result<UniqueFd> openInRoot(const std::string& root, const std::string& path, int flags) {
  auto folder = base::openFile(root, O_PATH | O_DIRECTORY);
  if (!folder) return folder.error();
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, folder->get(), path.c_str(), &how, sizeof how);
  if (fd >= 0) return UniqueFd(static_cast<int>(fd));
  const bool absent = errno == ENOENT || errno == ENOTDIR;
  Error error = kernelError("cannot open " + path + " below " + root);
  if (absent) error.kind = Kind::NotFound;
  return error;
}

bool isRegular(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

Status writeOnce(const std::string& path, const std::string& text) {
  auto file = base::openFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444);
  if (!file) return file.error();
  // Whatever the umask says.
  if (::fchmod(file->get(), 0444) != 0) return kernelError("cannot set the mode of " + path);
  if (auto written = base::writeAll(file->get(), text); !written)
    return written.error().during("writing " + path);
  return {};
}

}  // namespace

Result<Trust> mergeTrust(const TrustSources& sources) {
  Roots all, added;
  Trust trust;
  trust.has_system_roots = !sources.system_bundle.empty();
  if (trust.has_system_roots && !all.add(sources.system_bundle))
    return unreadable("the system's bundle of certificates");
  if (!all.add(sources.ca_pem) || !added.add(sources.ca_pem)) return unreadable("the run's CA");
  for (const auto& extra : sources.extras)
    if (!all.add(extra) || !added.add(extra)) return unreadable("a file of further certificates");
  for (const auto& named : sources.named)
    if (!all.add(named)) return unreadable("a file of certificates that a variable names");
  if (all.certificates().size() > kMostRoots)
    return Error{Kind::Config, "there are more than " + std::to_string(kMostRoots) + " roots", 0};
  trust.bundle = all.pem();
  trust.added = added.pem();
  trust.java_store = javaTrustStore(all.certificates());
  return trust;
}

Result<std::string> readRegularInRoot(const std::string& root, const std::string& path) {
  auto file = openInRoot(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return file.error();
  if (!isRegular(file->get())) return Error{Kind::NotFound, path + " is no regular file", 0};
  auto text = base::readAll(file->get(), kLargestBundle);
  if (!text) return text.error().during("reading " + path);
  return text;
}

Result<std::string> readSystemBundle(const std::string& root) {
  for (const char* path : kSystemBundles) {
    auto text = readRegularInRoot(root, path);
    if (!text && text.error().kind == Kind::NotFound) continue;
    if (!text || !text->empty()) return text;
  }
  return std::string();
}

Result<std::string> resolveInRoot(const std::string& root, const std::string& path) {
  auto file = openInRoot(root, path, O_PATH);
  if (!file && file.error().kind == Kind::NotFound) return std::string();
  if (!file) return file.error();
  if (!isRegular(file->get())) return std::string();
  std::string target(PATH_MAX, '\0');
  const std::string by_fd = "/proc/self/fd/" + std::to_string(file->get());
  const ssize_t length = ::readlink(by_fd.c_str(), target.data(), target.size());
  if (length < 0) return kernelError("cannot tell where " + path + " lies");
  target.resize(static_cast<std::size_t>(length));
  return target;
}

TrustPaths::TrustPaths(const std::string& folder)
    : bundle(folder + "/bundle.pem"),
      added(folder + "/run-ca.pem"),
      java_store(folder + "/java.jks"),
      wgetrc(folder + "/wgetrc") {}

Status writeTrustFiles(const std::string& folder, const Trust& trust) {
  const TrustPaths paths(folder);
  const std::pair<const std::string&, const std::string&> files[] = {
      {paths.bundle, trust.bundle},
      {paths.added, trust.added},
      {paths.java_store, trust.java_store},
      {paths.wgetrc, trust.wgetrc}};
  for (const auto& [path, text] : files) {
    if (text.empty()) continue;
    if (auto written = writeOnce(path, text); !written)
      return written.error().during("making the agent's programs trust the run's CA");
  }
  return {};
}

Status showTrust(const std::string& mount_point, const Trust& trust) {
  const std::string folder = mount_point + kTrustInBox;
  if (::mkdir(folder.c_str(), 0755) != 0 || ::chmod(folder.c_str(), 0755) != 0)
    return kernelError("cannot make " + std::string(kTrustInBox));
  if (auto written = writeTrustFiles(folder, trust); !written) return written;
  const TrustPaths paths(folder);
  std::map<std::string, std::string> shown;
  for (const char* path : kSystemBundles) {
    auto target = resolveInRoot(mount_point, path);
    if (!target) return target.error();
    shown[*target] = paths.bundle;
  }
  for (const char* path : kSystemJavaStores) {
    auto target = resolveInRoot(mount_point, path);
    if (!target) return target.error();
    shown[*target] = paths.java_store;
  }
  for (const auto& [target, file] : shown)
    if (!target.empty())
      if (auto bound = bindMount({file, target, true, false}); !bound) return bound;
  return {};
}

void removeTrustFolder(const std::string& folder) {
  const TrustPaths paths(folder);
  for (const std::string& path : {paths.bundle, paths.added, paths.java_store, paths.wgetrc})
    ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

Result<std::string> makeTrustFolder(const std::string& run_id) {
  Error last;
  for (const char* parent : {"/run", "/tmp", "/dev/shm"}) {
    const std::string folder = std::string(parent) + "/warder-trust-" + run_id;
    if (::mkdir(folder.c_str(), 0755) == 0) {
      if (::chmod(folder.c_str(), 0755) == 0) return folder;
    }
    last = kernelError("cannot make " + folder + ", where the run's certificates are shown");
  }
  return last;
}

}  // namespace warder::launch
