#include "supervisor/boot/machine.h"

#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/base/fault.h"
#include "supervisor/base/fd.h"
#include "supervisor/boot/clock.h"
#include "supervisor/boot/console.h"
#include "supervisor/boot/entropy.h"
#include "supervisor/boot/etc_files.h"
#include "supervisor/boot/file_steps.h"
#include "supervisor/boot/grace_periods.h"
#include "supervisor/boot/job_source.h"
#include "supervisor/boot/mount_table.h"
#include "supervisor/boot/name_files.h"
#include "supervisor/boot/ports.h"
#include "supervisor/boot/power.h"

namespace warder::boot {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
namespace json = base::json;

namespace {

constexpr const char* kOwnFolder = "/run/warder";
constexpr const char* kSpool = "/run/warder/spool";
constexpr const char* kWorkspace = "/workspace";
constexpr int kDiskWithinMs = 5000;
constexpr std::size_t kMostEtcFile = 1 << 20;

/// Whether something is mounted on this folder already: by the initramfs half, or by the kernel.
bool isMounted(const std::string& path) {
  struct stat here {};
  struct stat above {};
  return ::stat(path.c_str(), &here) == 0 && ::stat((path + "/..").c_str(), &above) == 0 &&
         here.st_dev != above.st_dev;
}

class MachineMaker {
 public:
  Result<Machine> make() {
    struct Step {
      const char* name;
      Status (MachineMaker::*take)();
    };
    constexpr Step steps[] = {
        {"mounts", &MachineMaker::mountKernel}, {"settings", &MachineMaker::readCommandLine},
        {"mounts", &MachineMaker::mountRest},   {"devices", &MachineMaker::linkDevices},
        {"cgroups", &MachineMaker::makeGroups}, {"loopback", &MachineMaker::raiseLo},
        {"names", &MachineMaker::nameMachine},  {"network", &MachineMaker::addressMachine},
        {"clock", &MachineMaker::checkClock},   {"workspace", &MachineMaker::mountWorkspace},
        {"job", &MachineMaker::fetch},          {"entropy", &MachineMaker::seed}};
    for (const auto& step : steps)
      if (auto done = (this->*step.take)(); !done)
        return done.error().during("preparing the machine (" + std::string(step.name) + ")");
    return std::move(machine_);
  }

 private:
  Status mountKernel() {
    ::umask(022);
    if (::chdir("/") != 0) return kernelError("cannot go to /");
    // Ctrl-Alt-Del, which is how some VMMs ask for an end, becomes a SIGINT instead of a reset.
    ::reboot(RB_DISABLE_CAD);
    for (const auto& step : kernelMounts("")) {
      if (isMounted(step.target)) continue;
      if (auto mounted = mountOn(step); !mounted) return mounted;
    }
    openConsole();
    short_grace_periods_.begin();
    return {};
  }

  Status readCommandLine() {
    auto line = base::readFile("/proc/cmdline", kMostCommandLine);
    if (!line) return line.error();
    auto read = readSettings(*line);
    for (std::size_t i = 0; i + 1 < read.faults.size(); ++i) say(base::render(read.faults[i]));
    if (!read.faults.empty()) return Error{Kind::Config, base::render(read.faults.back())};
    machine_.settings = std::move(read.settings);
    guardAgainstCrash(settings().end);
    return {};
  }

  Status mountRest() {
    for (const auto& step : machineMounts(settings())) {
      auto mounted = mountOn(step);
      if (mounted) continue;
      if (step.type != "cgroup2") return mounted;
      warn("cgroups: " + mounted.error().sentence() + "; nothing is bounded by control groups");
      no_cgroups_ = true;
    }
    if (auto made = makeFolder(kOwnFolder); !made) return made;
    if (auto made = makeFolder(kSpool, 0711); !made) return made;
    machine_.spool = kSpool;
    struct statvfs shm {};
    if (::statvfs("/dev/shm", &shm) == 0)
      machine_.shm_bytes = std::uint64_t{shm.f_blocks} * shm.f_frsize;
    if (const auto warning = shmWarning(machine_.shm_bytes); !warning.empty()) warn(warning);
    return {};
  }

  Status linkDevices() {
    const std::pair<const char*, const char*> links[] = {{"/proc/self/fd", "/dev/fd"},
                                                         {"/proc/self/fd/0", "/dev/stdin"},
                                                         {"/proc/self/fd/1", "/dev/stdout"},
                                                         {"/proc/self/fd/2", "/dev/stderr"}};
    for (const auto& [target, link] : links)
      if (auto made = makeLink(target, link); !made) return made;
    linkPorts();
    auto control = stopByPort(kControlPort);
    if (control)
      machine_.control = std::move(*control);
    else if (control.error().kind != Kind::NotFound)
      warn(control.error().sentence());
    return {};
  }

  Status makeGroups() {
    if (no_cgroups_) return {};
    auto groups = makeCgroups(kCgroupRoot, machine_.warnings);
    if (!groups) return groups.error();
    machine_.cgroups = std::move(*groups);
    return {};
  }

  Status raiseLo() { return raiseLoopback(machine_.warnings); }

  Status nameMachine() {
    const std::string& host = settings().host;
    if (::sethostname(host.data(), host.size()) != 0)
      return kernelError("cannot set the host name " + host);
    if (::access("/etc", F_OK) != 0)
      if (auto made = makeFolder("/etc"); !made) return made;
    writeEtc("hostname", host + "\n", machine_.warnings);
    auto hosts = base::readFile("/etc/hosts", kMostEtcFile);
    const std::string existing = hosts ? *hosts : "";
    if (const auto text = hostsWith(existing, host); text != existing)
      writeEtc("hosts", text, machine_.warnings);
    return {};
  }

  Status addressMachine() {
    auto network = raiseInterface(settings(), machine_.warnings);
    if (!network) return network.error();
    machine_.network = std::move(*network);
    auto& dns = machine_.network.dns;
    if (!settings().dns.empty()) dns = settings().dns;
    if (!dns.empty()) {
      writeEtc("resolv.conf", resolvConf(dns), machine_.warnings);
      return {};
    }
    auto existing = base::readFile("/etc/resolv.conf", kMostEtcFile);
    if (existing && countNameServers(*existing) > 0) {
      dns.push_back("/etc/resolv.conf of the image");
      return {};
    }
    warn("dns: none; no name can be resolved: set warder.dns, or warder.ip=dhcp");
    return {};
  }

  Status checkClock() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const auto decision = decideClock(now.tv_sec, buildTime(), settings().clock);
    if (!decision.warning.empty()) warn(decision.warning);
    if (!decision.set) return {};
    const timespec set{static_cast<time_t>(*decision.set), 0};
    if (::clock_settime(CLOCK_REALTIME, &set) != 0) return kernelError("cannot set the clock");
    return {};
  }

  Status mountWorkspace() {
    const std::string& disk = settings().workspace;
    if (disk.empty()) return {};
    if (!waitFor([&] { return ::access(disk.c_str(), F_OK) == 0; }, kDiskWithinMs))
      return Error{Kind::NotFound, "warder.workspace=" + disk + ": the machine has no such disk"};
    const MountStep step{"ext4", disk, kWorkspace, MS_NOSUID | MS_NODEV, ""};
    if (auto mounted = mountOn(step); !mounted) return mounted.error().during("workspace " + disk);
    machine_.workspace = kWorkspace;
    return {};
  }

  Status fetch() {
    auto job = fetchJob(settings());
    if (!job) return job.error();
    machine_.job_file = std::move(*job);
    return {};
  }

  Status seed() {
    std::string file = settings().seed_file;
    if (!file.empty()) {
      if (!file.starts_with('/')) file = std::string(kJobFolder) + "/" + file;
      if (auto credited = creditSeed(file); !credited) return credited;
    }
    checkEntropy(machine_.warnings);
    return {};
  }

  const Settings& settings() const { return machine_.settings; }
  void warn(std::string sentence) { machine_.warnings.push_back(std::move(sentence)); }

  Machine machine_;
  bool no_cgroups_ = false;
  ShortGracePeriods short_grace_periods_;
};

}  // namespace

Result<Machine> prepareMachine() {
  return MachineMaker().make();
}

json::object describe(const Machine& machine) {
  json::array dns, controllers;
  for (const auto& server : machine.network.dns) dns.emplace_back(server);
  for (const auto& controller : machine.cgroups.controllers) controllers.emplace_back(controller);
  json::object facts = {{"host", machine.settings.host},
                        {"shm_bytes", machine.shm_bytes},
                        {"controllers", std::move(controllers)},
                        {"end", nameOf(machine.settings.end)}};
  facts["address"] =
      machine.network.address.empty() ? json::value("none") : json::value(machine.network.address);
  facts["dns"] = dns.empty() ? json::value("none") : json::value(std::move(dns));
  return facts;
}

}  // namespace warder::boot
