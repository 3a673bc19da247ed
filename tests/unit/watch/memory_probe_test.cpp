// A memory probe over a literal tree of files: what the kernel would show, written down.
#include "supervisor/watch/memory_probe.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace warder::watch {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kMiB = 1ULL << 20;

/// A folder that looks like a machine's /proc and /sys/fs/cgroup.
class Tree {
 public:
  Tree() {
    std::string pattern = (fs::temp_directory_path() / "warder-probe-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    put("proc/meminfo",
        "MemTotal:        4194304 kB\nMemFree:         3145728 kB\n"
        "MemAvailable:    3670016 kB\n");
    put("proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
    put("proc/self/cgroup", "");
    put("proc/self/mountinfo", "");
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// Writes in place, as the kernel changes a file that somebody holds open.
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::trunc) << text;
  }
  MemoryPaths paths() const { return {(root_ / "cgroup").string(), (root_ / "proc").string()}; }

 private:
  fs::path root_;
};

std::string v2Stat(std::uint64_t anon, std::uint64_t file, std::uint64_t mapped) {
  return "anon " + std::to_string(anon) + "\nfile " + std::to_string(file) +
         "\nkernel 8388608\nkernel_stack 16384\nsock 0\nshmem 1048576\nfile_mapped " +
         std::to_string(mapped) + "\nslab_reclaimable 4194304\nunevictable 0\n";
}

/// What one cgroup's files show.
struct Shown {
  std::string max;
  std::uint64_t current;
  std::string stat;
};

void putLevel(Tree& tree, const std::string& folder, const Shown& shown) {
  tree.put(folder + "/memory.max", shown.max + "\n");
  tree.put(folder + "/memory.current", std::to_string(shown.current) + "\n");
  tree.put(folder + "/memory.stat", shown.stat);
  tree.put(folder + "/memory.events",
           "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n");
}

void mountV2(Tree& tree, const std::string& top, const std::string& own) {
  tree.put("proc/self/mountinfo",
           "30 23 0:26 " + top + " /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup rw\n");
  tree.put("proc/self/cgroup", "0::" + own + "\n");
}

TEST(MemoryProbe, ReadsTheOwnCgroupOfVersionTwo) {
  Tree tree;
  mountV2(tree, "/", "/box");
  putLevel(tree, "cgroup/box",
           {"1073741824", 700 * kMiB, v2Stat(300 * kMiB, 390 * kMiB, 100 * kMiB)});
  auto probe = MemoryProbe::open(tree.paths());
  ASSERT_TRUE(probe);
  auto sample = probe->sample();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->source, MemorySource::CgroupV2);
  EXPECT_EQ(sample->limit_bytes, 1024 * kMiB);
  EXPECT_EQ(sample->current_bytes, 700 * kMiB);
  // 300 anonymous + 1 shared + (8 - 4) kernel + 100 mapped: the other 290 MiB of cache are free.
  EXPECT_EQ(sample->used_bytes, 405 * kMiB);
  EXPECT_EQ(*probe->oomKills(), 2u);
}

TEST(MemoryProbe, TakesTheLevelWithTheLeastHeadroomAmongVisibleAncestors) {
  Tree tree;
  mountV2(tree, "/", "/pod/box");
  const std::string idle = v2Stat(10 * kMiB, 0, 0);
  putLevel(tree, "cgroup/pod/box", {"max", 20 * kMiB, idle});
  putLevel(tree, "cgroup/pod", {"536870912", 500 * kMiB, v2Stat(450 * kMiB, 0, 0)});
  auto probe = MemoryProbe::open(tree.paths());
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->sample()->limit_bytes, 512 * kMiB);
  EXPECT_EQ(probe->sample()->used_bytes, 455 * kMiB);
}

TEST(MemoryProbe, FindsTheFilesAtTheMountsTopWhenTheCgroupPathLiesOutsideOfIt) {
  for (const std::string own : {"/docker/abc", "/../../elsewhere", "/"}) {
    Tree tree;
    mountV2(tree, own == "/docker/abc" ? "/docker/abc" : "/", own);
    putLevel(tree, "cgroup", {"268435456", 100 * kMiB, v2Stat(90 * kMiB, 0, 0)});
    auto probe = MemoryProbe::open(tree.paths());
    ASSERT_TRUE(probe);
    EXPECT_EQ(probe->sample()->limit_bytes, 256 * kMiB) << own;
  }
}

TEST(MemoryProbe, IsTheMachinesMemoryWhereNoCgroupHasALimitBelowIt) {
  Tree tree;
  mountV2(tree, "/", "/box");
  for (const std::string max : {"max", "9999999999999"}) {
    putLevel(tree, "cgroup/box", {max, 700 * kMiB, v2Stat(300 * kMiB, 0, 0)});
    auto probe = MemoryProbe::open(tree.paths());
    ASSERT_TRUE(probe);
    auto sample = probe->sample();
    EXPECT_EQ(sample->source, MemorySource::Meminfo);
    EXPECT_EQ(sample->limit_bytes, 4096 * kMiB);
    EXPECT_EQ(sample->used_bytes, 512 * kMiB);      // total - available
    EXPECT_EQ(sample->current_bytes, 1024 * kMiB);  // total - free
    EXPECT_EQ(*probe->oomKills(), 2u) << "kills are counted in the own cgroup all the same";
  }
}

TEST(MemoryProbe, FollowsALimitThatChangesWhileTheBoxRuns) {
  Tree tree;
  mountV2(tree, "/", "/box");
  putLevel(tree, "cgroup/box", {"max", 100 * kMiB, v2Stat(90 * kMiB, 0, 0)});
  auto probe = MemoryProbe::open(tree.paths());
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->sample()->source, MemorySource::Meminfo);
  tree.put("cgroup/box/memory.max", "209715200\n");
  EXPECT_EQ(probe->sample()->limit_bytes, 200 * kMiB);
}

TEST(MemoryProbe, ReadsVersionOneWithTheLimitOfTheWholeHierarchy) {
  Tree tree;
  tree.put("proc/self/mountinfo",
           "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
           "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
           "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  tree.put("proc/self/cgroup", "4:memory:/box\n1:cpu:/\n0::/\n");
  tree.put("cgroup/memory/box/memory.stat",
           "rss 1\nhierarchical_memory_limit 536870912\ntotal_cache 209715200\n"
           "total_rss 104857600\ntotal_shmem 10485760\ntotal_mapped_file 1048576\n"
           "total_unevictable 0\n");
  tree.put("cgroup/memory/box/memory.usage_in_bytes", "335544320\n");
  tree.put("cgroup/memory/box/memory.kmem.usage_in_bytes", "5242880\n");
  tree.put("cgroup/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  auto probe = MemoryProbe::open(tree.paths());
  ASSERT_TRUE(probe);
  auto sample = probe->sample();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->source, MemorySource::CgroupV1);
  EXPECT_EQ(sample->limit_bytes, 512 * kMiB);
  EXPECT_EQ(sample->used_bytes, (100 + 10 + 5 + 32) * kMiB);  // 32: the floor, a sixteenth of 512
  EXPECT_EQ(*probe->oomKills(), 5u);
}

TEST(MemoryProbe, FallsBackToMeminfoAndTheMachinesCountOfKills) {
  Tree tree;
  auto probe = MemoryProbe::open(tree.paths());
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->sample()->source, MemorySource::Meminfo);
  EXPECT_EQ(*probe->oomKills(), 7u);
}

TEST(MemoryProbe, RemembersThePeakOfWhatWasUsed) {
  Tree tree;
  auto probe = MemoryProbe::open(tree.paths());
  ASSERT_TRUE(probe);
  tree.put("proc/meminfo", "MemTotal: 4194304 kB\nMemFree: 0 kB\nMemAvailable: 1048576 kB\n");
  EXPECT_EQ(probe->sample()->peak_bytes, 3072 * kMiB);
  tree.put("proc/meminfo", "MemTotal: 4194304 kB\nMemFree: 0 kB\nMemAvailable: 4194304 kB\n");
  EXPECT_EQ(probe->sample()->used_bytes, 0u);
  EXPECT_EQ(probe->sample()->peak_bytes, 3072 * kMiB);
}

TEST(MemoryProbe, IsRefusedWhereNotEvenMeminfoCanBeRead) {
  auto probe = MemoryProbe::open({"/nonexistent", "/nonexistent"});
  ASSERT_FALSE(probe);
  EXPECT_EQ(probe.error().kind, base::Kind::NotFound);
}

TEST(Unreclaimable, LeavesPageCacheOutAndPutsMappedFilesIn) {
  // A harmless read of a big file: nearly all is cache. Only the floor counts.
  EXPECT_EQ(unreclaimableV2(v2Stat(0, 900 * kMiB, 0), 1024 * kMiB), (1 + 4 + 64) * kMiB);
  EXPECT_EQ(unreclaimableV2(v2Stat(0, 900 * kMiB, 300 * kMiB), 1024 * kMiB), (1 + 4 + 300) * kMiB);
}

TEST(Unreclaimable, ScalesTheFloorSoThatASmallBoxIsNotFullFromTheStart) {
  EXPECT_EQ(unreclaimableV2(v2Stat(0, 60 * kMiB, 0), 64 * kMiB), (1 + 4 + 4) * kMiB);
  EXPECT_EQ(unreclaimableV2(v2Stat(0, 0, 0), 1024 * kMiB), (1 + 4 + 0) * kMiB) << "no cache at all";
}

TEST(Unreclaimable, AddsUpTheKernelsPartsWhereTheSumIsNotShown) {
  EXPECT_EQ(unreclaimableV2("anon 100\nkernel_stack 10\npagetables 20\npercpu 3\n"
                            "slab_unreclaimable 7\nslab_reclaimable 1000\nsock 5\n",
                            1024 * kMiB),
            145u);
}

TEST(StatValue, MatchesWholeKeysOnly) {
  EXPECT_EQ(statValue("oom_kill_disable 9\noom_kill 4\n", "oom_kill"), 4u);
  EXPECT_EQ(statValue("MemTotal:      12 kB\n", "MemTotal"), 12u * 1024);
  EXPECT_EQ(statValue("anon 5", "anon"), 5u);
  EXPECT_EQ(statValue("anon\nanon x\n", "anon"), 0u);
  EXPECT_EQ(statValue("", "anon"), 0u);
}

}  // namespace
}  // namespace warder::watch
