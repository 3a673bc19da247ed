#include "supervisor/launch/box_root.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "supervisor/base/fd.h"
#include "supervisor/job/box_view.h"
#include "supervisor/job/job_spec.h"
#include "supervisor/launch/bind_mount.h"
#include "supervisor/launch/image_root.h"

namespace warder::launch {

using base::kernelError;
using base::Result;
using base::Status;
namespace fs = std::filesystem;

namespace {

/// Programs and libraries of the machine. On a merged-/usr system most are links, which are copied
/// as links.
constexpr const char* kProgramPaths[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                         "/lib32", "/lib64", "/libx32"};
/// What programs need from /etc to start, and nothing that says who this machine is.
constexpr const char* kEtcPaths[] = {"/etc/ld.so.cache",
                                     "/etc/ld.so.conf",
                                     "/etc/ld.so.conf.d",
                                     "/etc/alternatives",
                                     "/etc/ssl/certs",
                                     "/etc/pki/tls/certs",
                                     "/etc/pki/ca-trust/extracted",
                                     "/etc/ca-certificates.conf",
                                     "/etc/localtime",
                                     "/etc/protocols",
                                     "/etc/services",
                                     "/etc/mime.types",
                                     "/etc/java-17-openjdk",
                                     "/etc/python3",
                                     "/etc/perl"};
/// Parts of /proc that speak of the whole machine: shown read-only, or not at all. The lists are
/// the ones that container engines agree on (OCI runtime specification, readonlyPaths,
/// maskedPaths).
constexpr const char* kKernelSettings[] = {
    "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/pressure"};
constexpr const char* kKernelSecrets[] = {
    "/proc/kcore",       "/proc/keys",          "/proc/kmsg",       "/proc/timer_list",
    "/proc/sched_debug", "/proc/latency_stats", "/proc/kpagecount", "/proc/kpageflags",
    "/proc/kpagecgroup", "/proc/slabinfo",      "/proc/vmallocinfo"};
constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

class RootBuilder {
 public:
  explicit RootBuilder(const BoxRoot& box) : box_(box) {}

  Status build() {
    for (auto step : {&RootBuilder::mountRoot, &RootBuilder::showPrograms, &RootBuilder::writeEtc,
                      &RootBuilder::makeDevices, &RootBuilder::mountProc, &RootBuilder::makeScratch,
                      &RootBuilder::showReadOnly, &RootBuilder::showCertificates,
                      &RootBuilder::showWorkspace, &RootBuilder::showDoors, &RootBuilder::sealRoot})
      if (auto done = (this->*step)(); !done) return done.error().during("building the box's root");
    return {};
  }

 private:
  std::string at(const std::string& path) const { return box_.mount_point + path; }

  Status makeFolder(const std::string& path, mode_t mode = 0755) {
    std::error_code failure;
    const bool made = fs::create_directories(at(path), failure);
    if (failure) return kernelError("cannot make " + path, failure.value());
    if (made && ::chmod(at(path).c_str(), mode) != 0)
      return kernelError("cannot set the mode of " + path);
    return {};
  }

  Status writeFile(const std::string& path, const std::string& text) {
    auto file = base::openFile(at(path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (!file) return file.error();
    return base::writeAll(file->get(), text);
  }

  Status mountFresh(const char* type, const std::string& path, const std::string& options) {
    const unsigned long flags = MS_NOSUID | MS_NODEV;
    if (::mount(type, at(path).c_str(), type, flags, options.c_str()) != 0)
      return kernelError("cannot mount " + std::string(type) + " on " + path);
    return {};
  }

  Status mountRoot() {
    if (auto mounted = mountFresh("tmpfs", "", "mode=0755,size=16m"); !mounted) return mounted;
    for (const char* path : {"/etc", "/dev", "/proc", "/run", "/tmp", "/home", "/var", "/root"})
      if (auto made = makeFolder(path); !made) return made;
    if (auto made = makeFolder(kPrivateInBox, 0700); !made) return made;
    return makeFolder(job::kWorkspaceInBox);
  }

  /// Shows one path of the machine at the same place: links as links, the rest as a read-only bind.
  Status show(const std::string& path) {
    std::error_code failure;
    const auto status = fs::symlink_status(path, failure);
    if (status.type() == fs::file_type::not_found) return {};
    if (auto made = makeFolder(fs::path(path).parent_path().string()); !made) return made;
    if (status.type() == fs::file_type::symlink) {
      const auto target = fs::read_symlink(path, failure);
      if (::symlink(target.c_str(), at(path).c_str()) != 0 && errno != EEXIST)
        return kernelError("cannot make the link " + path);
      return {};
    }
    if (fs::is_directory(status)) {
      if (auto made = makeFolder(path); !made) return made;
    } else if (auto made = writeFile(path, ""); !made) {
      return made;
    }
    return bindMount({path, at(path), true, false});
  }

  Status showPrograms() {
    if (!box_.image.empty()) {
      ImageRoot root{box_.image, box_.mount_point, {}};
      root.ours.assign(std::begin(job::kOwnPlaces), std::end(job::kOwnPlaces));
      root.ours.insert(root.ours.end(), box_.read_only.begin(), box_.read_only.end());
      return showImage(root);
    }
    for (const char* path : kProgramPaths)
      if (auto shown = show(path); !shown) return shown;
    return {};
  }

  /// After the scratch folders, which would hide a path below /tmp or /var/tmp. What lies below
  /// /usr is there already.
  Status showReadOnly() {
    for (const auto& path : box_.read_only) {
      if (fs::exists(fs::symlink_status(at(path)))) continue;
      if (auto shown = show(path); !shown) return shown;
    }
    return {};
  }

  Status writeEtc() {
    const bool of_machine = box_.image.empty();
    for (const char* path : kEtcPaths)
      if (auto shown = of_machine ? show(path) : Status(); !shown) return shown;
    const std::string hosts =
        "127.0.0.1 localhost " + box_.host_name + "\n::1 localhost ip6-localhost\n";
    const std::pair<const char*, std::string> files[] = {
        {"/etc/passwd", passwdText(box_.uid, box_.gid)},
        {"/etc/group", groupText(box_.gid)},
        {"/etc/hosts", hosts},
        {"/etc/hostname", box_.host_name + "\n"},
        {"/etc/resolv.conf", resolverText(box_.name_server)},
        {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"}};
    for (const auto& [path, text] : files)
      if (auto written = writeFile(path, text); !written) return written;
    return of_machine ? writeFile("/etc/shells", "/bin/sh\n/bin/bash\n") : Status();
  }

  Status makeDevices() {
    for (const std::string name : kDevices) {
      if (auto made = writeFile("/dev/" + name, ""); !made) return made;
      if (auto bound = bindMount({"/dev/" + name, at("/dev/" + name), true, true}); !bound)
        return bound;
    }
    if (auto made = makeFolder("/dev/pts"); !made) return made;
    if (::mount("devpts", at("/dev/pts").c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
                "newinstance,ptmxmode=0666,mode=0620") != 0)
      return kernelError("cannot mount devpts");
    const std::pair<const char*, const char*> links[] = {{"pts/ptmx", "/dev/ptmx"},
                                                         {"/proc/self/fd", "/dev/fd"},
                                                         {"/proc/self/fd/0", "/dev/stdin"},
                                                         {"/proc/self/fd/1", "/dev/stdout"},
                                                         {"/proc/self/fd/2", "/dev/stderr"}};
    for (const auto& [target, link] : links)
      if (::symlink(target, at(link).c_str()) != 0) return kernelError("cannot make a device link");
    return {};
  }

  /// A process sees those processes of /proc that it could trace: the agent's own.
  /// Source: Documentation/filesystems/proc.rst, hidepid.
  Status mountProc() {
    if (::mount("proc", at("/proc").c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                "hidepid=ptraceable") != 0)
      return kernelError("cannot mount proc");
    // An agent with uid 0 has no capability, but its uid owns these files.
    for (const std::string path : kKernelSettings)
      if (fs::exists(at(path)))
        if (auto bound = bindMount({at(path), at(path), true, false}); !bound) return bound;
    for (const std::string path : kKernelSecrets)
      if (fs::exists(at(path)))
        if (auto bound = bindMount({"/dev/null", at(path), true, true}); !bound) return bound;
    return {};
  }

  Status ownedFolder(const std::string& path, mode_t mode) {
    if (auto made = makeFolder(path, mode); !made) return made;
    if (::chown(at(path).c_str(), box_.owner_uid, box_.owner_gid) != 0)
      return kernelError("cannot give " + path + " to the agent");
    return {};
  }

  /// One tmpfs for everything the agent may write outside the workspace, so that one size binds.
  Status makeScratch() {
    if (auto made = makeFolder("/var/scratch"); !made) return made;
    const std::string options = "mode=0755,size=" + std::to_string(box_.tmp_size);
    if (auto mounted = mountFresh("tmpfs", "/var/scratch", options); !mounted) return mounted;
    struct Place {
      const char* folder;
      const char* shown_at;
      mode_t mode;
    };
    const Place places[] = {{"/var/scratch/tmp", "/tmp", 01777},
                            {"/var/scratch/var-tmp", "/var/tmp", 01777},
                            {"/var/scratch/shm", "/dev/shm", 01777},
                            {"/var/scratch/home", job::kHomeInBox, 0755}};
    for (const auto& place : places) {
      if (auto made = ownedFolder(place.folder, place.mode); !made) return made;
      if (auto made = makeFolder(place.shown_at); !made) return made;
      if (auto bound = bindMount({at(place.folder), at(place.shown_at), false, false}); !bound)
        return bound;
    }
    if (::umount2(at("/var/scratch").c_str(), MNT_DETACH) != 0)
      return kernelError("cannot detach /var/scratch");
    return {};
  }

  Status showCertificates() {
    return box_.trust ? showTrust(box_.mount_point, *box_.trust) : Status();
  }

  Status showWorkspace() {
    struct stat owner {};
    if (::stat(box_.workspace.c_str(), &owner) != 0)
      return kernelError("cannot look at the workspace " + box_.workspace);
    BindMount bind{box_.workspace, at(job::kWorkspaceInBox), false, false};
    if (box_.can_map_owner && (owner.st_uid != box_.uid || owner.st_gid != box_.gid)) {
      bind.uid_map = swappedIds(owner.st_uid, box_.uid);
      bind.gid_map = swappedIds(owner.st_gid, box_.gid);
    }
    return bindMount(bind);
  }

  Status showDoors() {
    if (box_.doors == nullptr || !box_.doors->toShow()) return {};
    if (auto made = makeFolder(kDoorFolder); !made) return made;
    return box_.doors->showAt(at(kDoorFolder));
  }

  Status sealRoot() {
    if (::chown(at(kPrivateInBox).c_str(), box_.owner_uid, box_.owner_gid) != 0)
      return kernelError("cannot prepare " + std::string(kPrivateInBox));
    mount_attr readOnly{};
    readOnly.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (::mount_setattr(AT_FDCWD, box_.mount_point.c_str(), 0, &readOnly, sizeof readOnly) != 0)
      return kernelError("cannot make the box's root read-only");
    return {};
  }

  const BoxRoot& box_;
};

}  // namespace

Status buildBoxRoot(const BoxRoot& box) {
  return RootBuilder(box).build();
}

std::string resolverText(bool name_server) {
  // Where nobody listens, a question is refused at once; without a server named here, resolvers
  // would ask this one too.
  const char* comment =
      name_server ? "# Names that the policy allows.\n" : "# Names are not resolved in this box.\n";
  return std::string(comment) + "nameserver 127.0.0.1\n";
}

std::string passwdText(uid_t uid, gid_t gid) {
  std::string text = "root:x:0:0:root:/root:/bin/sh\n";
  const std::string ids = std::to_string(uid) + ":" + std::to_string(gid);
  if (uid != 0) text += "agent:x:" + ids + ":agent:" + job::kHomeInBox + ":/bin/sh\n";
  if (uid != 65534) text += "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
  return text;
}

std::string groupText(gid_t gid) {
  std::string text = "root:x:0:\n";
  if (gid != 0) text += "agent:x:" + std::to_string(gid) + ":\n";
  if (gid != 65534) text += "nogroup:x:65534:\n";
  return text;
}

}  // namespace warder::launch
