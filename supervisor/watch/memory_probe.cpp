#include "supervisor/watch/memory_probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace warder::watch {

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMappedFloor = 64ULL << 20;
constexpr std::size_t kMostText = 64 * 1024;
constexpr std::string_view kUsualMount = "/sys/fs/cgroup";

/// The whole file from its start; the kernel makes a fresh text for each read at offset 0. Files of
/// many records (/proc/vmstat) come a page at a time.
base::Result<std::string> reread(const base::UniqueFd& fd, std::string_view what) {
  std::string text;
  char part[8192];
  while (text.size() < kMostText) {
    const ssize_t count = ::pread(fd.get(), part, sizeof part, static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::kernelError("cannot read " + std::string(what));
    if (count == 0) break;
    text.append(part, static_cast<std::size_t>(count));
  }
  return text;
}

base::UniqueFd openIfThere(const std::string& path) {
  auto fd = base::openFile(path, O_RDONLY);
  return fd ? std::move(*fd) : base::UniqueFd();
}

/// "max" and an empty text are no limit.
std::uint64_t numberOf(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? value : kNoLimit;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool listed(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Where a cgroup hierarchy is mounted, and which of its folders is the mount's top.
struct Mount {
  std::string point;
  std::string top;
};

/// A mount of /proc/self/mountinfo: "ID PARENT DEV TOP POINT OPTIONS ... - TYPE SOURCE SUPER".
/// For v1 the super options name the controllers. Source: proc(5).
std::vector<Mount> cgroupMounts(const MemoryPaths& roots, bool v2) {
  std::vector<Mount> mounts;
  const auto text = base::readFile(roots.proc + "/self/mountinfo", 16 << 20);
  if (!text) return mounts;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto head = split(line.substr(0, dash), ' ');
    const auto tail = split(line.substr(dash + 3), ' ');
    if (head.size() < 5 || tail.size() < 3) continue;
    const bool wanted =
        v2 ? tail[0] == "cgroup2" : tail[0] == "cgroup" && listed(tail[2], "memory");
    if (!wanted) continue;
    std::string point(head[4]);
    if (point.starts_with(kUsualMount)) point = roots.cgroup + point.substr(kUsualMount.size());
    mounts.push_back({std::move(point), std::string(head[3])});
  }
  return mounts;
}

/// This process's path in the hierarchy: "0::/path" for v2, "4:memory:/path" for v1.
std::string ownPath(const MemoryPaths& roots, bool v2) {
  const auto text = base::readFile(roots.proc + "/self/cgroup", 1 << 20);
  if (!text) return {};
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? line.starts_with("0::") : listed(controllers, "memory"))
      return std::string(line.substr(second + 1));
  }
  return {};
}

/// The path below the mount's top: what is left of `own`, or "" where the top hides it (another
/// cgroup namespace: then the mount's top is the nearest that can be seen).
std::string below(const Mount& mount, const std::string& own) {
  std::string rest = own;
  if (mount.top != "/") {
    if (!own.starts_with(mount.top)) return {};
    rest = own.substr(mount.top.size());
  }
  while (!rest.empty() && rest.back() == '/') rest.pop_back();
  const bool outside = rest.find("/..") != std::string::npos;
  return outside ? std::string() : rest;
}

std::uint64_t mappedFiles(std::uint64_t mapped, std::uint64_t cached, std::uint64_t limit_bytes) {
  return std::max(mapped, std::min({kMappedFloor, limit_bytes / 16, cached}));
}

}  // namespace

std::string_view nameOf(MemorySource source) {
  switch (source) {
    case MemorySource::CgroupV2:
      return "cgroup2";
    case MemorySource::CgroupV1:
      return "cgroup1";
    case MemorySource::Meminfo:
      return "meminfo";
  }
  return "meminfo";
}

std::uint64_t statValue(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size()) continue;
    std::string_view rest = line.substr(key.size());
    if (rest.front() == ':') rest.remove_prefix(1);
    if (rest.empty() || rest.front() != ' ') continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::uint64_t value = numberOf(rest);
    if (value == kNoLimit) return 0;
    return rest.ends_with(" kB") ? value * 1024 : value;
  }
  return 0;
}

std::uint64_t unreclaimableV2(std::string_view stat, std::uint64_t limit_bytes) {
  std::uint64_t kernel = statValue(stat, "kernel");  // since Linux 5.18
  const std::uint64_t reclaimable = statValue(stat, "slab_reclaimable");
  if (kernel > 0)
    kernel -= std::min(kernel, reclaimable);
  else
    kernel = statValue(stat, "kernel_stack") + statValue(stat, "pagetables") +
             statValue(stat, "percpu") + statValue(stat, "slab_unreclaimable");
  return statValue(stat, "anon") + statValue(stat, "shmem") + kernel + statValue(stat, "sock") +
         statValue(stat, "unevictable") +
         mappedFiles(statValue(stat, "file_mapped"), statValue(stat, "file"), limit_bytes);
}

std::uint64_t unreclaimableV1(std::string_view stat, std::uint64_t kernel_bytes,
                              std::uint64_t limit_bytes) {
  return statValue(stat, "total_rss") + statValue(stat, "total_shmem") + kernel_bytes +
         statValue(stat, "total_unevictable") +
         mappedFiles(statValue(stat, "total_mapped_file"), statValue(stat, "total_cache"),
                     limit_bytes);
}

base::Result<MemoryProbe> MemoryProbe::open(MemoryPaths roots) {
  MemoryProbe probe;
  auto meminfo = base::openFile(roots.proc + "/meminfo", O_RDONLY);
  if (!meminfo) return meminfo.error().during("looking for memory");
  probe.meminfo_ = std::move(*meminfo);
  auto machine = probe.sampleMachine();
  if (!machine) return machine.error();
  probe.machine_bytes_ = machine->limit_bytes;
  probe.openV2(roots);
  if (probe.levels_.empty()) probe.openV1(roots);
  if (!probe.kills_) probe.kills_ = openIfThere(roots.proc + "/vmstat");
  return probe;
}

void MemoryProbe::openV2(const MemoryPaths& roots) {
  const std::string own = ownPath(roots, true);
  for (const Mount& mount : cgroupMounts(roots, true)) {
    for (std::string path = below(mount, own);; path.resize(path.rfind('/'))) {
      const std::string folder = mount.point + path + "/";
      Level level{openIfThere(folder + "memory.max"), openIfThere(folder + "memory.current"),
                  openIfThere(folder + "memory.stat")};
      if (level.max && level.current && level.stat) {
        if (levels_.empty()) kills_ = openIfThere(folder + "memory.events");
        levels_.push_back(std::move(level));
      }
      if (path.empty()) break;
    }
    if (!levels_.empty()) return;
  }
}

void MemoryProbe::openV1(const MemoryPaths& roots) {
  const std::string own = ownPath(roots, false);
  for (const Mount& mount : cgroupMounts(roots, false)) {
    std::string folder = mount.point + below(mount, own) + "/";
    v1_.stat = openIfThere(folder + "memory.stat");
    if (!v1_.stat) {
      folder = mount.point + "/";
      v1_.stat = openIfThere(folder + "memory.stat");
    }
    v1_.current = openIfThere(folder + "memory.usage_in_bytes");
    if (!v1_.stat || !v1_.current) continue;
    v1_kernel_ = openIfThere(folder + "memory.kmem.usage_in_bytes");
    kills_ = openIfThere(folder + "memory.oom_control");
    return;
  }
}

base::Result<MemorySample> MemoryProbe::sampleMachine() const {
  auto text = reread(meminfo_, "/proc/meminfo");
  if (!text) return text.error();
  MemorySample sample;
  sample.source = MemorySource::Meminfo;
  sample.limit_bytes = statValue(*text, "MemTotal");
  if (sample.limit_bytes == 0)
    return base::Error{base::Kind::Kernel, "/proc/meminfo has no MemTotal"};
  sample.used_bytes =
      sample.limit_bytes - std::min(sample.limit_bytes, statValue(*text, "MemAvailable"));
  sample.current_bytes =
      sample.limit_bytes - std::min(sample.limit_bytes, statValue(*text, "MemFree"));
  return sample;
}

base::Result<MemorySample> MemoryProbe::sampleLevel(const Level& level) const {
  auto max = reread(level.max, "memory.max");
  if (!max) return max.error();
  MemorySample sample;
  sample.source = MemorySource::CgroupV2;
  sample.limit_bytes = numberOf(*max);
  if (sample.limit_bytes >= machine_bytes_) return sample;  // does not bind; tightest() skips it
  auto current = reread(level.current, "memory.current");
  if (!current) return current.error();
  auto stat = reread(level.stat, "memory.stat");
  if (!stat) return stat.error();
  sample.current_bytes = numberOf(*current);
  sample.used_bytes = std::min(unreclaimableV2(*stat, sample.limit_bytes), sample.current_bytes);
  return sample;
}

base::Result<MemorySample> MemoryProbe::sampleV1() const {
  auto stat = reread(v1_.stat, "memory.stat");
  if (!stat) return stat.error();
  MemorySample sample;
  sample.source = MemorySource::CgroupV1;
  sample.limit_bytes = statValue(*stat, "hierarchical_memory_limit");
  if (sample.limit_bytes == 0) sample.limit_bytes = kNoLimit;
  if (sample.limit_bytes >= machine_bytes_) return sample;
  auto current = reread(v1_.current, "memory.usage_in_bytes");
  if (!current) return current.error();
  std::uint64_t kernel = 0;
  if (v1_kernel_) {
    if (auto text = reread(v1_kernel_, "memory.kmem.usage_in_bytes"); text && !text->empty())
      kernel = numberOf(*text);
  }
  sample.current_bytes = numberOf(*current);
  sample.used_bytes =
      std::min(unreclaimableV1(*stat, kernel, sample.limit_bytes), sample.current_bytes);
  return sample;
}

base::Result<MemorySample> MemoryProbe::tightest() const {
  MemorySample best;
  best.limit_bytes = kNoLimit;
  const auto consider = [&](const MemorySample& sample) {
    if (sample.limit_bytes >= machine_bytes_) return;
    if (best.limit_bytes == kNoLimit || sample.headroom() < best.headroom()) best = sample;
  };
  for (const Level& level : levels_) {
    auto sample = sampleLevel(level);
    if (!sample) return sample.error();
    consider(*sample);
  }
  if (v1_.stat) {
    auto sample = sampleV1();
    if (!sample) return sample.error();
    consider(*sample);
  }
  if (best.limit_bytes != kNoLimit) return best;
  return sampleMachine();
}

base::Result<MemorySample> MemoryProbe::sample() {
  auto sample = tightest();
  if (!sample) return sample;
  peak_bytes_ = std::max(peak_bytes_, sample->used_bytes);
  sample->peak_bytes = peak_bytes_;
  return sample;
}

base::Result<std::uint64_t> MemoryProbe::oomKills() const {
  if (!kills_) return std::uint64_t{0};
  auto text = reread(kills_, "the kernel's count of memory kills");
  if (!text) return text.error();
  return statValue(*text, "oom_kill");
}

}  // namespace warder::watch
