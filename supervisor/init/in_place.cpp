#include "supervisor/init/in_place.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "supervisor/base/fd.h"
#include "supervisor/base/units.h"
#include "supervisor/launch/agent_network.h"
#include "supervisor/launch/confine.h"

namespace warder::init {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxEtcFile = 1 << 20;
// Descriptors are handed to stages by way of numbers above 64, and the broker has connections.
constexpr rlim_t kLeastFiles = 256;
constexpr const char* kHosts = "/etc/hosts";
// Where they may be mounted a second time.
constexpr unsigned long kKernelFileSystems[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC,
                                                CGROUP2_SUPER_MAGIC};

std::string textOf(const char* path) {
  auto text = base::readFile(path, kMaxEtcFile);
  return text ? *text : "";
}

std::vector<std::string> wordsOf(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

bool isOwnFolder(const std::string& path, const job::User& user) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISDIR(file.st_mode)) return false;
  if (::geteuid() == user.uid) return ::access(path.c_str(), W_OK | X_OK) == 0;
  struct statvfs system {};
  const bool writable = ::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) == 0;
  return writable && file.st_uid == user.uid && (file.st_mode & S_IRWXU) == S_IRWXU;
}

std::string hostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

void lookAtNames(std::vector<std::string>& sentences) {
  std::vector<std::string> names = {"localhost"};
  if (const auto own = hostName(); !own.empty() && own != "(none)") names.push_back(own);
  const auto missing = missingNames(textOf(kHosts), names);
  if (missing.empty()) return;
  std::string list;
  for (const auto& name : missing) list += (list.empty() ? "" : " ") + name;
  auto file = base::openFile(kHosts, O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (file && base::writeAll(file->get(), "127.0.0.1 " + list + "\n::1 " + list + "\n")) return;
  sentences.push_back("/etc/hosts has no address for " + list +
                      " and cannot be written, so programs will ask a name server for it; add it "
                      "to the image or start the container with --add-host");
}

}  // namespace

void setInPlace(job::Overrides& overrides) {
  overrides.in_place = true;
  overrides.path.clear();
  if (const char* path = ::getenv("PATH"); path != nullptr) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (folder.starts_with("/")) overrides.path.push_back(folder);
  }
  if (!launch::mayChangeIds()) overrides.user = job::User{::geteuid(), ::getegid()};
}

Status checkPlace() {
  char self[32] = {};
  if (::readlink("/proc/self", self, sizeof self - 1) <= 0 || std::to_string(::getpid()) != self ||
      ::access("/proc/self/exe", F_OK) != 0)
    return Error{Kind::Config,
                 "there is no /proc of this pid namespace here; a job needs it: mount -t proc proc "
                 "/proc, or let the "
                 "container engine do so"};
  struct stat null {};
  if (::stat("/dev/null", &null) != 0 || !S_ISCHR(null.st_mode))
    return Error{Kind::Config,
                 "there is no device /dev/null here; a job needs it: let the container engine "
                 "make /dev"};
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kLeastFiles)
    return Error{Kind::Config, "the limit of open files is " + std::to_string(files.rlim_cur) +
                                   " here; a job needs " + std::to_string(kLeastFiles) +
                                   ": start the container with --ulimit nofile=1024:1024"};
  return {};
}

Error noNetworkHere() {
  return {Kind::Kernel, "it takes CAP_SYS_ADMIN and CAP_NET_ADMIN"};
}

Error refuseDegraded(const Error& why) {
  return {Kind::Config,
          "the agent cannot have a network of its own here (" + why.sentence() +
              "), so that it could walk around the policy; give the container what is missing, or "
              "say allow_degraded: true in the policy"};
}

Status checkNetwork(bool allow_degraded) {
  if (allow_degraded || launch::mayMakeNetworks()) return {};
  return refuseDegraded(noNetworkHere());
}

Result<std::string> findHome(const job::User& user, const std::string& run_id) {
  const std::string home = homeInPasswd(textOf("/etc/passwd"), user.uid);
  if (home.size() > 1 && isOwnFolder(home, user)) return home;
  for (const char* scratch : {"/tmp", "/dev/shm"}) {
    const std::string made = std::string(scratch) + "/home-" + run_id;
    if (::mkdir(made.c_str(), 0700) != 0) continue;
    if (::geteuid() == user.uid || ::chown(made.c_str(), user.uid, user.gid) == 0) return made;
  }
  return base::kernelError("the agent has no home that it can write (uid " +
                           std::to_string(user.uid) +
                           "), and neither /tmp nor /dev/shm can hold one; mount a tmpfs on /tmp");
}

std::vector<std::string> lookAtPlace() {
  std::vector<std::string> sentences;
  struct statvfs shared {};
  if (::statvfs("/dev/shm", &shared) != 0 || ::access("/dev/shm", W_OK) != 0) {
    sentences.push_back("there is no /dev/shm to write to; programs that share memory will fail");
  } else if (const auto size = std::uint64_t{shared.f_blocks} * shared.f_frsize;
             size < kLeastSharedMemory) {
    sentences.push_back("/dev/shm has " + base::printSize(size) +
                        "; browsers crash (SIGBUS) where it is full: start the container with "
                        "--shm-size " +
                        std::to_string(kLeastSharedMemory >> 20) + "m or more");
  }
  if (!namesServer(textOf("/etc/resolv.conf")))
    sentences.push_back(
        "dns: none; /etc/resolv.conf names no server, so upstreams that are named "
        "and not numbered cannot be reached");
  lookAtNames(sentences);
  return sentences;
}

std::string whyNoWorkspace(const std::string& path) {
  std::error_code failure;
  const std::string real = std::filesystem::canonical(path, failure).string();
  if (failure) return {};  // that it is not there is told elsewhere
  if (real == "/") return path + " is the root of this place; name a folder below it";
  for (const std::string folder : {"/proc", "/sys", "/dev"})
    if (real == folder || real.starts_with(folder + "/"))
      return path + " lies in " + folder + ", which keeps no files; name another folder";
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0) return {};
  for (const auto kernels : kKernelFileSystems)
    if (static_cast<unsigned long>(system.f_type) == kernels)
      return path +
             " lies in a file system of the kernel, which keeps no files; name another folder";
  return {};
}

std::string lookAtWorkspace(const std::string& path, const job::User& user) {
  struct stat file {};
  struct statvfs system {};
  if (::stat(path.c_str(), &file) != 0 || ::statvfs(path.c_str(), &system) != 0) return {};
  const mode_t writes = file.st_uid == user.uid   ? S_IWUSR
                        : file.st_gid == user.gid ? S_IWGRP
                                                  : S_IWOTH;
  const bool read_only = (system.f_flag & ST_RDONLY) != 0;
  if (user.uid == 0 || (file.st_mode & writes) != 0) {
    if (!read_only) return {};
    return "the workspace " + path + " is mounted read-only";
  }
  return "the agent (" + std::to_string(user.uid) + ":" + std::to_string(user.gid) +
         ") cannot write its workspace " + path + ", which belongs to " +
         std::to_string(file.st_uid) + ":" + std::to_string(file.st_gid) +
         "; give it to the agent with chown, or name its owner as agent.user";
}

std::string homeInPasswd(const std::string& passwd, uid_t uid) {
  std::istringstream lines(passwd);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ':');) fields.push_back(field);
    if (fields.size() >= 6 && fields[2] == std::to_string(uid) && fields[5].starts_with("/"))
      return fields[5];
  }
  return {};
}

std::vector<std::string> missingNames(const std::string& hosts,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> missing = names;
  std::istringstream lines(hosts);
  for (std::string line; std::getline(lines, line);) {
    const auto words = wordsOf(line);
    for (std::size_t i = 1; i < words.size(); ++i)
      missing.erase(std::remove(missing.begin(), missing.end(), words[i]), missing.end());
  }
  return missing;
}

bool namesServer(const std::string& resolv_conf) {
  std::istringstream lines(resolv_conf);
  for (std::string line; std::getline(lines, line);)
    if (const auto words = wordsOf(line); words.size() >= 2 && words[0] == "nameserver")
      return true;
  return false;
}

}  // namespace warder::init
