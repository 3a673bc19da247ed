#include "supervisor/job/job_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "supervisor/base/fd.h"
#include "supervisor/base/regular_file.h"
#include "supervisor/job/box_view.h"
#include "supervisor/job/certificates.h"
#include "supervisor/job/fields.h"
#include "supervisor/job/helper_program.h"
#include "supervisor/job/secret_length.h"

namespace warder::job {
namespace {

namespace fs = std::filesystem;

// Folders that are not shown as a whole, nor anything that holds them.
constexpr const char* kNeverWhole[] = {"/etc", "/root", "/home", "/var", "/tmp", "/boot"};
// Folders of which nothing is shown.
constexpr const char* kNeverBelow[] = {"/proc", "/sys", "/dev", "/run", "/var/run"};
// Folders that every program relies on; a workspace is written to.
constexpr const char* kPrograms[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"};
// Sockets that are as good as root on this machine.
constexpr const char* kEngineSockets[] = {"docker.sock", "containerd.sock", "crio.sock",
                                          "podman.sock", "buildkitd.sock"};

constexpr std::size_t kLargestRoots = 4UL * 1024 * 1024;  // a system's bundle has 220 KiB
std::string realPath(const std::string& path) {
  std::error_code failure;
  const std::string real = fs::canonical(path, failure).string();
  return failure ? path : real;
}

class Checker {
 public:
  explicit Checker(const JobReading& reading)
      : reading_(reading), job_(reading.job), own_uid_(hasOwnUid(reading.job.agent.user)) {}

  base::Faults run() {
    checkWorkspace();
    checkRoot();
    checkReadOnly();
    checkNotWritable(job_.file, "the job", "");
    checkNotWritable(reading_.preset_file, "the preset", "agent.preset");
    if (reading_.policy.from == PolicyAsk::From::File) {
      checkNotWritable(reading_.policy.name, "the policy", "policy");
    }
    for (const SecretSpec& secret : job_.secrets) {
      const std::string key = "secrets." + secret.name;
      if (const auto handed = handedOf(secret.from))
        checkSource(*handed, {key, key + ".from"}, kKey);
      checkFurtherFiles(secret, key + ".from");
      checkRoots(secret.ca_file, key + ".ca_file");
    }
    checkCollectors();
    checkResults();
    return std::move(faults_);
  }

  base::Faults runForCollectors() {
    checkCollectors();
    return std::move(faults_);
  }

 private:
  void checkCollectors() {
    for (std::size_t i = 0; i < job_.results.to.size(); ++i) {
      const std::string key = "results.to[" + std::to_string(i) + "]";
      checkSource(job_.results.to[i].token, {key + ".token", key + ".token"}, kToken);
      checkRoots(job_.results.to[i].ca_file, key + ".ca_file");
    }
  }

  void fault(const std::string& key, const std::string& sentence) {
    faults_.push_back({reading_.placeOf(key), sentence});
  }

  void checkWorkspace() {
    const std::string& path = job_.agent.workspace;
    if (path.empty()) return;
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) {
      return fault("agent.workspace", "agent.workspace: there is no folder " + path);
    }
    if (!S_ISDIR(file.st_mode)) {
      return fault("agent.workspace", "agent.workspace: " + path + " is no folder");
    }
    checkShown("agent.workspace", path);
    for (const char* programs : kPrograms) {
      if (realPath(path) != realPath(programs)) continue;
      return fault("agent.workspace", "agent.workspace: " + path +
                                          " holds this machine's programs, which the agent must "
                                          "not change");
    }
  }

  /// "/" is no image: the job runs in place, and whoever put it there answers for what it sees.
  void checkRoot() {
    const std::string& path = job_.agent.root;
    if (path.empty() || path == "/") return;
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) {
      return fault("agent.rootfs", "agent.rootfs: there is no folder " + path);
    }
    if (!S_ISDIR(file.st_mode)) {
      return fault("agent.rootfs",
                   "agent.rootfs: " + path + " is no folder; unpack the image and name its folder");
    }
    if (realPath(path) == "/") {
      return fault("agent.rootfs", "agent.rootfs: " + path + " leads to this machine's own root");
    }
    checkShown("agent.rootfs", path);
  }

  void checkReadOnly() {
    for (const std::string& path : job_.agent.read_only) {
      struct stat file {};
      if (::stat(path.c_str(), &file) != 0) {
        fault("agent.read_only", "agent.read_only: " + path + " is not there");
        continue;
      }
      checkShown("agent.read_only", path);
      for (const char* taken : {kWorkspaceInBox, kHomeInBox}) {
        if (!isBelow(path, taken)) continue;
        fault("agent.read_only", "agent.read_only: the box shows " + std::string(taken) +
                                     " in its own way, so " + path + " cannot be shown there");
      }
      if (S_ISSOCK(file.st_mode) || S_ISBLK(file.st_mode) || S_ISCHR(file.st_mode)) {
        fault("agent.read_only", "agent.read_only: " + path + " is a socket or a device");
      }
    }
  }

  void checkShown(const std::string& key, const std::string& path) {
    if (job_.agent.root == "/") return;  // in place, nothing is shown: all is there
    for (const std::string& name : {path, realPath(path)}) {
      const std::string why = whyNotShown(name);
      if (!why.empty()) return fault(key, key + ": " + why);
    }
    for (const char* socket : kEngineSockets) {
      std::error_code ignored;
      if (fs::path(path).filename() == socket || fs::exists(path + "/" + socket, ignored)) {
        return fault(key, key + ": " + path + " holds " + socket +
                              ", which is as good as root on this machine");
      }
    }
  }

  /// For files that decide what the agent may do. Where the agent shares the caller's uid, the box
  /// alone keeps it from them.
  void checkNotWritable(const std::string& path, const std::string& what, const std::string& key) {
    struct stat file {};
    struct stat folder {};
    const std::string parent = fs::path(path).parent_path().string();
    if (path.empty() || !own_uid_ || job_.agent.user.uid == 0) return;
    if (::stat(path.c_str(), &file) != 0 || ::stat(parent.c_str(), &folder) != 0) return;
    const std::string uid = std::to_string(job_.agent.user.uid);
    if (canWrite(file, job_.agent.user)) {
      return fault(key, what + " " + path + " can be written by the agent's uid " + uid +
                            "; give it another owner or mode");
    }
    // In a sticky folder only the owner of file or folder can replace the file.
    const bool sticky = (folder.st_mode & S_ISVTX) != 0 && folder.st_uid != job_.agent.user.uid;
    if (canWrite(folder, job_.agent.user) && !sticky) {
      fault(key, what + " " + path + " lies in a folder that the agent's uid " + uid +
                     " can write, so it could replace it; move it or change the folder's mode");
    }
  }

  struct Name {
    std::string what;  // for people
    std::string key;
  };

  void checkSource(const HandedSource& source, const Name& name, const Length& length) {
    if (const auto* file = std::get_if<FileSource>(&source)) checkSecretFile(*file, name, length);
  }

  /// Looks at the file's size and never reads it.
  void checkSecretFile(const FileSource& source, const Name& name, const Length& length) {
    const auto& [what, key] = name;
    if (source.path.empty()) return;  // its reader has said so
    const auto file = base::openFile(source.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file) return fault(key, what + ": " + file.error().sentence());
    struct stat facts {};
    if (::fstat(file->get(), &facts) != 0) {
      return fault(key, what + ": " + base::kernelError(source.path).sentence());
    }
    const std::string named = what + ": " + source.path;
    if (!S_ISREG(facts.st_mode)) {
      return fault(key, named + (S_ISDIR(facts.st_mode) ? " is a folder" : " is no regular file") +
                            "; name a file, or hand a descriptor over with {fd: NUMBER}");
    }
    const std::string why = whyNoLength(static_cast<std::size_t>(facts.st_size), length);
    if (!why.empty()) fault(key, named + " " + why);
    checkNotWritable(source.path, what + ": the file", key);
    if (job_.agent.root == "/") return checkUnreadable(facts, source.path, name);
    checkHidden(source.path, what, key);
  }

  /// What a source needs beside what is handed over.
  void checkFurtherFiles(const SecretSpec& secret, const std::string& key) {
    if (secret.terms.expires_at && *secret.terms.expires_at <= std::chrono::system_clock::now())
      fault("secrets." + secret.name + ".expires",
            "secrets." + secret.name + ".expires has passed; nothing could be done with it");
    if (const auto* vault = std::get_if<VaultSource>(&secret.from))
      checkRoots(vault->ca_file, key + ".vault.ca_file");
    const auto* exec = std::get_if<ExecSource>(&secret.from);
    if (exec == nullptr || exec->command.empty()) return;
    const auto program = findHelper(exec->command.front());
    if (!program) return fault(key, key + ".exec: " + program.error().sentence());
    checkNotWritable(*program, key + ".exec: the program", key);
    if (isBelow(realPath(*program), realPath(job_.agent.workspace)))
      fault(key, key + ".exec: " + *program +
                     " lies in the workspace, where the agent could change it; move it elsewhere");
  }

  /// In place the agent sees the file too; its mode alone keeps it from reading.
  void checkUnreadable(const struct stat& file, const std::string& path, const Name& name) {
    const User& user = job_.agent.user;
    if (user.uid != 0 && !canRead(file, user)) return;
    fault(name.key, name.what + ": " + path + " can be read by the agent's uid " +
                        std::to_string(user.uid) +
                        (own_uid_ ? "; give it to root with mode 0400 (Kubernetes: defaultMode)"
                                  : "; where the agent has no uid of its own, hand the secret over "
                                    "with {env: NAME}, which the agent does not get"));
  }

  /// The box shows the agent two kinds of folders of the user's; a secret is in neither.
  void checkHidden(const std::string& path, const std::string& what, const std::string& key) {
    const std::string real = realPath(path);
    std::vector<std::string> shown = job_.agent.read_only;
    shown.push_back(job_.agent.workspace);
    if (job_.agent.root != "/") shown.push_back(job_.agent.root);
    for (const std::string& folder : shown) {
      if (folder.empty() || !isBelow(real, realPath(folder))) continue;
      return fault(key, what + ": " + path + " lies below " + folder +
                            ", which the agent can read; move the secret elsewhere");
    }
  }

  void checkRoots(const std::string& path, const std::string& key) {
    if (path.empty()) return;
    const auto text = base::readRegularFile(path, kLargestRoots);
    if (!text) return fault(key, key + ": " + text.error().sentence());
    if (!holdsCertificates(*text)) {
      return fault(key, key + ": " + path + " is no file with PEM certificates in it");
    }
    checkNotWritable(path, key + ": the file", key);
  }

  void checkResults() {
    if (job_.results.directory.empty()) return;
    const std::string why = whyNoResultsIn(job_.results.directory);
    if (!why.empty()) fault("results.dir", "results.dir: " + why);
  }

  const JobReading& reading_;
  const JobSpec& job_;
  bool own_uid_;
  base::Faults faults_;
};

}  // namespace

std::string whyNotShown(const std::string& path) {
  for (const char* folder : kNeverBelow) {
    if (isBelow(path, folder)) return path + " lies below " + folder + ", which is never shown";
  }
  std::vector<std::string> whole(std::begin(kNeverWhole), std::end(kNeverWhole));
  whole.insert(whole.end(), std::begin(kNeverBelow), std::end(kNeverBelow));
  for (const std::string& folder : whole) {
    if (isBelow(folder, path)) {
      return path + " is or holds " + folder + ", which is never shown whole";
    }
  }
  return {};
}

std::string whyNoResultsIn(const std::string& path) {
  std::error_code ignored;
  const std::string real = fs::weakly_canonical(path, ignored).string();
  for (const std::string& name : {path, real}) {
    if (name == "/") return path + " is the root of this machine; name a folder below it";
    for (const char* folder : {"/proc", "/sys", "/dev"}) {
      if (isBelow(name, folder)) return path + " lies in " + folder + ", which keeps no files";
    }
  }
  for (fs::path at = path; !at.empty(); at = at.parent_path()) {
    struct stat file {};
    if (::stat(at.c_str(), &file) == 0) {
      if (S_ISDIR(file.st_mode)) return {};
      if (at == path) return path + " is there and is no folder";
      return at.string() + " is no folder, so nothing can lie below it";
    }
    if (::lstat(at.c_str(), &file) == 0) return at.string() + " is a link that leads nowhere";
    if (at == at.parent_path()) break;
  }
  return {};
}

base::Faults checkFiles(const JobReading& reading) {
  return Checker(reading).run();
}

base::Faults checkCollectors(const JobReading& reading) {
  return Checker(reading).runForCollectors();
}

std::string whyResultsDoNotHold(const JobReading& reading) {
  if (!reading.results_sound) return "that part of it could not be read without a fault";
  if (!onlyRootCanChange(reading.job.file)) return "others than root can change the job file";
  return whyNoResultsIn(reading.job.results.directory);
}

base::Faults warnAboutFiles(const JobReading& reading) {
  base::Faults warnings;
  const std::string workspace = realPath(reading.job.agent.workspace);
  const auto warn = [&](const std::string& path, const std::string& what, const std::string& key) {
    if (path.empty() || !isBelow(realPath(path), workspace)) return;
    warnings.push_back(
        {reading.placeOf(key), what + " " + path +
                                   " lies in the workspace, where the agent can change it "
                                   "for the next run"});
  };
  warn(reading.job.file, "the job", "");
  warn(reading.preset_file, "the preset", "agent.preset");
  warn(reading.job.agent.root, "the image", "agent.rootfs");
  if (reading.policy.from == PolicyAsk::From::File) {
    warn(reading.policy.name, "the policy", "policy");
  }
  return warnings;
}

}  // namespace warder::job
