// The other decisions of a boot: modules, names, clock, control groups, mounts, routes.
#include <gmock/gmock.h>
#include <sys/mount.h>

#include "supervisor/boot/cgroups.h"
#include "supervisor/boot/clock.h"
#include "supervisor/boot/machine.h"
#include "supervisor/boot/module_list.h"
#include "supervisor/boot/mount_table.h"
#include "supervisor/boot/name_files.h"

namespace warder::boot {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ModuleList, NamesFilesInOrder) {
  const auto modules = readModuleList("# drivers\nvirtio.ko\n\nvirtio-rng.ko virtio:d00000004v*");
  EXPECT_THAT(modules.value(),
              ElementsAre(AllOf(Field(&Module::file, "virtio.ko"), Field(&Module::alias, "")),
                          AllOf(Field(&Module::file, "virtio-rng.ko"),
                                Field(&Module::alias, "virtio:d00000004v*"))));
  EXPECT_THAT(readModuleList("").value(), IsEmpty());
}

TEST(ModuleList, NamesThatLeaveTheFolderOrArePackedAreRefused) {
  for (const char* wrong : {"../x.ko", "/x.ko", "virtio", "virtio.ko.xz", " virtio.ko "})
    EXPECT_FALSE(readModuleList(wrong)) << wrong;
}

TEST(ModuleList, AnAliasSaysForWhichDevicesAModuleIs) {
  for (const char* wrong :
       {"a.ko ", "a.ko virtio", "a.ko ../x:y", "a.ko :y", "a.ko virtio:a virtio:b"})
    EXPECT_FALSE(readModuleList(wrong)) << wrong;
  EXPECT_EQ(busOf("virtio:d00000001v*"), "virtio");
  EXPECT_TRUE(answersTo("virtio:d00000001v00001AF4\n", "virtio:d00000001v*"));
  EXPECT_FALSE(answersTo("virtio:d00000002v00001AF4\n", "virtio:d00000001v*"));
  EXPECT_TRUE(
      answersTo("pci:v00001AF4d00001041sv00001AF4sd00001100bc02sc00i00", "pci:v00001AF4d*"));
  EXPECT_FALSE(answersTo("", "pci:v00001AF4d*"));
}

TEST(ModuleList, LimitsHoldOnBothSides) {
  std::string text;
  for (std::size_t i = 0; i < kMostModules; ++i) text += "m.ko\n";
  EXPECT_TRUE(readModuleList(text));
  EXPECT_FALSE(readModuleList(text + "m.ko\n"));
  EXPECT_TRUE(readModuleList("#" + std::string(kLongestModuleList - 1, 'x')));
  EXPECT_FALSE(readModuleList("#" + std::string(kLongestModuleList, 'x')));
}

TEST(ModuleParameters, ComeFromTheCommandLine) {
  const char* line =
      "quiet virtio_mmio.device=512@0xfeb00e00:12 virtio_mmio.device=\"a b\" "
      "virtio-rng.x=1 a.b=virtio_mmio.c=d -- virtio_mmio.no=1";
  EXPECT_EQ(moduleParameters("virtio_mmio.ko", line), "device=512@0xfeb00e00:12 \"device=a b\"");
  EXPECT_EQ(moduleParameters("virtio_rng.ko", line), "x=1");
  EXPECT_EQ(moduleParameters("overlay.ko", line), "");
}

TEST(Hosts, Bc124WhatIsMissingIsAddedAndTheRestStays) {
  EXPECT_EQ(hostsWith("", "vm1"),
            "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 vm1\n");
  EXPECT_EQ(hostsWith("127.0.0.1 localhost vm1\n::1 localhost\n", "vm1"),
            "127.0.0.1 localhost vm1\n::1 localhost\n");
  EXPECT_EQ(hostsWith("# 127.0.0.1 localhost\n10.0.0.1 vm1", "vm1"),
            "# 127.0.0.1 localhost\n10.0.0.1 vm1\n127.0.0.1 localhost\n"
            "::1 localhost ip6-localhost ip6-loopback\n");
}

TEST(ResolvConf, Bc086CountsOnlyServers) {
  EXPECT_EQ(countNameServers(""), 0u);
  EXPECT_EQ(countNameServers("# nameserver 1.1.1.1\n;nameserver 2.2.2.2\nsearch a\nnameserver\n"),
            0u);
  EXPECT_EQ(countNameServers(resolvConf({"1.1.1.1", "::1"})), 2u);
}

TEST(Clock, OneBeforeTheBinaryWasBuiltIsWrong) {
  constexpr std::int64_t built = 1'796'000'000;
  EXPECT_FALSE(decideClock(built, built, {}).set);
  EXPECT_THAT(decideClock(built, built, {}).warning, IsEmpty());
  EXPECT_THAT(decideClock(built - 1, built, {}).warning, HasSubstr("2026-11-30"));
  EXPECT_THAT(decideClock(0, built, {}).warning, HasSubstr("1970-01-01 00:00:00 UTC"));
}

TEST(Clock, TheTimeOfTheMachinesStartIsTakenWhenTheClockIsBehindIt) {
  constexpr std::int64_t built = 1'796'000'000;
  EXPECT_EQ(decideClock(0, built, built + 5).set, built + 5);
  EXPECT_EQ(decideClock(built + 4, built, built + 5).set, built + 5);
  EXPECT_FALSE(decideClock(built + 5, built, built + 5).set);
  EXPECT_FALSE(decideClock(0, built, built - 1).set);
  EXPECT_THAT(decideClock(0, built, built - 1).warning, HasSubstr("was not used"));
}

TEST(Clock, TheBuildTimeIsInThePastAndNotLongAgo) {
  EXPECT_LT(buildTime(), std::time(nullptr));
  EXPECT_GT(buildTime(), 1'700'000'000);
}

TEST(Cgroups, OnlyWhatTheKernelHasIsWanted) {
  EXPECT_THAT(wantedControllers("cpuset cpu io memory hugetlb pids\n"),
              ElementsAre("memory", "pids", "cpu"));
  EXPECT_THAT(wantedControllers("pids memoryx"), ElementsAre("pids"));
  EXPECT_THAT(wantedControllers(""), IsEmpty());
}

TEST(Mounts, Bc085TheSizeOfShmIsSetAndWarnedOf) {
  Settings settings;
  settings.shm = 64u << 20;
  bool found = false;
  for (const auto& step : machineMounts(settings))
    if (step.target == "/dev/shm") {
      found = true;
      EXPECT_EQ(step.options, "mode=1777,size=67108864");
      EXPECT_EQ(step.flags, static_cast<unsigned long>(MS_NOSUID | MS_NODEV));
    }
  EXPECT_TRUE(found);
  EXPECT_THAT(shmWarning(kSmallShm - 1), HasSubstr("SIGBUS"));
  EXPECT_THAT(shmWarning(kSmallShm), IsEmpty());
}

TEST(Routes, AGatewayOutsideOfTheNetworkNeedsARouteOfItsOwn) {
  const auto onLink = [](const char* address, int prefix, const char* gateway) {
    return isOnLink({*parseIpv4(address), prefix, parseIpv4(gateway)});
  };
  EXPECT_TRUE(onLink("10.0.2.15", 24, "10.0.2.2"));
  EXPECT_FALSE(onLink("10.0.2.15", 32, "10.0.2.2"));
  EXPECT_TRUE(onLink("10.0.2.15", 31, "10.0.2.14"));
  EXPECT_FALSE(onLink("10.0.2.15", 31, "10.0.2.16"));
}

TEST(Machine, Bc086SaysThatThereIsNoDns) {
  Machine machine;
  EXPECT_EQ(describe(machine).at("dns"), "none");
  EXPECT_EQ(describe(machine).at("address"), "none");
  machine.network.dns = {"10.0.2.3"};
  machine.network.address = "10.0.2.15/24";
  EXPECT_EQ(describe(machine).at("dns").as_array().at(0), "10.0.2.3");
}

TEST(FirstProcess, ATestIsNone) {
  EXPECT_FALSE(isFirstProcessOfKernel());
}

}  // namespace
}  // namespace warder::boot
