// The initramfs half of a boot. Part of machine.h.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "supervisor/base/fault.h"
#include "supervisor/base/fd.h"
#include "supervisor/boot/console.h"
#include "supervisor/boot/file_steps.h"
#include "supervisor/boot/grace_periods.h"
#include "supervisor/boot/machine.h"
#include "supervisor/boot/module_list.h"
#include "supervisor/boot/mount_table.h"

namespace warder::boot {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Status;
namespace fs = std::filesystem;

namespace {

constexpr const char* kModules = "/modules";
constexpr int kNoSuchStage = 125;
constexpr std::size_t kLongestModalias = 4096;  // a page, as all of sysfs
constexpr int kRootWithinMs = 5000;
// The order in which file systems are tried; which of them the kernel knows, it says itself.
constexpr const char* kFileSystems[] = {"ext4", "erofs", "squashfs"};

class Initramfs {
 public:
  Status leave() {
    for (auto step : {&Initramfs::mountKernel, &Initramfs::readCommandLine, &Initramfs::loadModules,
                      &Initramfs::mountRoot, &Initramfs::layOverlay, &Initramfs::moveMounts,
                      &Initramfs::switchRoot, &Initramfs::tryBinary})
      if (auto done = (this->*step)(); !done) return done;
    return execute();
  }

 private:
  Status mountKernel() {
    for (const auto& step : kernelMounts(""))
      if (auto mounted = mountOn(step); !mounted) return mounted;
    openConsole();
    short_grace_periods_.begin();
    // The only stamp that tells how long the kernel itself took.
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    char text[64];
    std::snprintf(text, sizeof text, "the kernel handed over after %lld.%03ld s",
                  static_cast<long long>(now.tv_sec), now.tv_nsec / 1'000'000);
    say(text);
    return {};
  }

  Status readCommandLine() {
    auto line = base::readFile("/proc/cmdline", kMostCommandLine);
    if (!line) return line.error();
    command_line_ = std::move(*line);
    auto read = readSettings(command_line_);
    for (std::size_t i = 0; i + 1 < read.faults.size(); ++i) say(base::render(read.faults[i]));
    if (!read.faults.empty()) return Error{Kind::Config, base::render(read.faults.back())};
    settings_ = std::move(read.settings);
    return {};
  }

  Status loadModules() {
    auto text = base::readFile(std::string(kModules) + "/list", kLongestModuleList);
    if (!text && text.error().kind == Kind::NotFound) return {};  // everything is built in
    if (!text) return text.error();
    auto modules = readModuleList(*text);
    if (!modules) return modules.error();
    for (const auto& module : *modules)
      if (module.alias.empty() || hasDevice(module.alias))
        if (auto loaded = loadModule(module.file); !loaded) return loaded;
    return {};
  }

  static bool hasDevice(const std::string& alias) {
    std::error_code failure;
    for (const auto& device :
         fs::directory_iterator("/sys/bus/" + busOf(alias) + "/devices", failure))
      if (auto modalias = base::readFile(device.path().string() + "/modalias", kLongestModalias))
        if (answersTo(*modalias, alias)) return true;
    return false;
  }

  Status loadModule(const std::string& file) {
    auto opened = base::openFile(std::string(kModules) + "/" + file, O_RDONLY);
    if (!opened) return opened.error().during("the module " + file + " is on the initramfs's list");
    const std::string parameters = moduleParameters(file, command_line_);
    if (::syscall(SYS_finit_module, opened->get(), parameters.c_str(), 0) != 0 && errno != EEXIST)
      return kernelError("the kernel does not take the module " + file +
                         "; it must come from the kernel's own package");
    return {};
  }

  Status mountRoot() {
    const auto there = [this] { return ::access(settings_.root.c_str(), F_OK) == 0; };
    if (!waitFor(there, kRootWithinMs))
      return Error{Kind::NotFound,
                   "there is no root device " + settings_.root + " (disks: " + disks() +
                       "); set warder.root, or add the disk's module " + "to the initramfs"};
    if (auto made = makeFolder("/lower"); !made) return made;
    auto known = base::readFile("/proc/filesystems", 65536);
    std::string tried;
    int reason = ENODEV;
    for (const std::string type : kFileSystems) {
      if (!known || known->find("\t" + type + "\n") == std::string::npos) continue;
      if (::mount(settings_.root.c_str(), "/lower", type.c_str(), MS_RDONLY, nullptr) == 0)
        return {};
      // What is of another type says EINVAL; a damaged one of this type says something else.
      if (reason == ENODEV || errno != EINVAL) reason = errno;
      tried += (tried.empty() ? "" : ", ") + type;
    }
    return kernelError("the root file system on " + settings_.root + " cannot be mounted (tried " +
                           tried + "); it is damaged, or of another type",
                       reason);
  }

  static std::string disks() {
    std::vector<std::string> names;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator("/sys/block", failure))
      names.push_back("/dev/" + entry.path().filename().string());
    std::sort(names.begin(), names.end());
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
  }

  Status layOverlay() {
    if (settings_.overlay == Overlay::None) {
      root_ = "/lower";
      return {};
    }
    const std::string size =
        settings_.overlay_size ? ",size=" + std::to_string(*settings_.overlay_size) : "";
    if (auto mounted = mountOn({"tmpfs", "upper", "/upper", 0, "mode=0755" + size}); !mounted)
      return mounted;
    for (const char* folder : {"/upper/data", "/upper/work"})
      if (auto made = makeFolder(folder); !made) return made;
    const MountStep overlay{"overlay", "overlay", "/root", 0,
                            "lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work"};
    if (auto mounted = mountOn(overlay); !mounted)
      return mounted.error().during(
          "laying a writable overlay (its module belongs into the initramfs; warder.overlay=none "
          "does without)");
    root_ = "/root";
    return {};
  }

  Status moveMounts() {
    for (const char* folder : {"/proc", "/sys", "/dev"}) {
      const std::string target = root_ + folder;
      if (auto made = makeFolder(target); !made)
        return made.error().during("the root file system has no " + std::string(folder));
      if (::mount(folder, target.c_str(), nullptr, MS_MOVE, nullptr) != 0)
        return kernelError("cannot move " + std::string(folder) + " to the root file system");
    }
    return {};
  }

  /// What the initramfs holds would stay in memory for the machine's life.
  static void emptyInitramfs() {
    std::error_code failure;
    fs::remove_all(kModules, failure);
    ::unlink("/init");
  }

  Status switchRoot() {
    emptyInitramfs();
    if (::chdir(root_.c_str()) != 0 || ::mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 ||
        ::chroot(".") != 0 || ::chdir("/") != 0)
      return kernelError("cannot switch to the root file system");
    return {};
  }

  /// A first process that dies takes the kernel with it, without a word: what lies in the root file
  /// system is tried as an ordinary process before. A stage that does not exist is the quickest
  /// thing that a warder can be asked for (supervisor/main.cpp).
  Status tryBinary() {
    posix_spawn_file_actions_t quiet;
    ::posix_spawn_file_actions_init(&quiet);
    ::posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const char* const words[] = {"warder", "--stage=none", nullptr};
    pid_t child = -1;
    const int failed = ::posix_spawn(&child, settings_.init.c_str(), &quiet, nullptr,
                                     const_cast<char* const*>(words), environ);
    ::posix_spawn_file_actions_destroy(&quiet);
    if (failed != 0) return cannotExecute(failed);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSuchStage) return {};
    const std::string how = WIFSIGNALED(status)
                                ? "dies of signal " + std::to_string(WTERMSIG(status))
                                : "ends with code " + std::to_string(WEXITSTATUS(status));
    return Error{Kind::Config, settings_.init + " of the root file system " + how +
                                   " when it is tried; it is damaged, or no warder"};
  }

  Error cannotExecute(int reason) const {
    return kernelError("cannot execute " + settings_.init +
                           " of the root file system (set warder.init where it lies elsewhere)",
                       reason);
  }

  Status execute() {
    short_grace_periods_.end();
    const char* const words[] = {"warder", "init", "--microvm", nullptr};
    ::execv(settings_.init.c_str(), const_cast<char* const*>(words));
    return cannotExecute(errno);
  }

  std::string command_line_;
  Settings settings_;
  std::string root_;
  ShortGracePeriods short_grace_periods_;
};

}  // namespace

void startFromInitramfs() {
  Status left;
  try {
    left = Initramfs().leave();
  } catch (const std::exception& error) {
    left = Error{Kind::Internal, error.what()};
  }
  endMachine({14, "nothing was started: " + left.error().sentence(), ""});
}

}  // namespace warder::boot
