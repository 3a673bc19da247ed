// The kernel command line as settings.
#include "supervisor/boot/settings.h"

#include <gmock/gmock.h>

namespace warder::boot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The only fault of a command line, rendered.
std::string faultOf(const std::string& line) {
  const auto read = readSettings(line);
  return read.faults.size() == 1 ? base::render(read.faults[0])
                                 : std::to_string(read.faults.size()) + " faults";
}

Settings settingsOf(const std::string& line) {
  auto read = readSettings(line);
  EXPECT_THAT(read.faults, IsEmpty()) << line;
  return read.settings;
}

TEST(Settings, WithoutAnyTheDefaultsStand) {
  const auto settings = settingsOf("console=ttyS0 quiet root=/dev/sda warderx.root=1 init=/bin/sh");
  EXPECT_EQ(settings.root, "/dev/vda");
  EXPECT_EQ(settings.overlay, Overlay::Tmpfs);
  EXPECT_EQ(settings.end, End::PowerOff);
  EXPECT_EQ(settings.init, "/usr/local/bin/warder");
  EXPECT_EQ(settings.host, "warder");
  EXPECT_EQ(settings.address_by, AddressBy::Nothing);
  EXPECT_TRUE(settings.job_device.empty() && settings.job_port.empty() &&
              settings.job_text.empty());
}

TEST(Settings, AllOfThemAreRead) {
  const auto settings = settingsOf(
      "warder.root=/dev/vdb warder.overlay=tmpfs warder.overlay_size=64Mi warder.init=/sbin/warder "
      "warder.end=reboot warder.host=box-1 warder.ip=10.0.2.15/24,10.0.2.2 warder.dns=10.0.2.3,::1 "
      "warder.clock=1796000000 warder.seed_file=seed warder.shm=1Gi warder.tmp=2g "
      "warder.job=/dev/vdc warder.workspace=/dev/vdd");
  EXPECT_EQ(settings.root, "/dev/vdb");
  EXPECT_EQ(settings.overlay_size, 64u << 20);
  EXPECT_EQ(settings.init, "/sbin/warder");
  EXPECT_EQ(settings.end, End::Reboot);
  EXPECT_EQ(settings.host, "box-1");
  EXPECT_EQ(settings.address_by, AddressBy::Setting);
  EXPECT_EQ(printIpv4(settings.address.address), "10.0.2.15");
  EXPECT_EQ(settings.address.prefix, 24);
  EXPECT_EQ(printIpv4(*settings.address.gateway), "10.0.2.2");
  EXPECT_THAT(settings.dns, ElementsAre("10.0.2.3", "::1"));
  EXPECT_EQ(settings.clock, 1796000000);
  EXPECT_EQ(settings.seed_file, "seed");
  EXPECT_EQ(settings.shm, 1u << 30);
  EXPECT_EQ(settings.tmp, 2u << 30);
  EXPECT_EQ(settings.job_device, "/dev/vdc");
  EXPECT_EQ(settings.workspace, "/dev/vdd");
}

TEST(Settings, AnUnknownOneIsNamedWithTheNearest) {
  EXPECT_EQ(faultOf("warder.rot=/dev/vda"),
            "warder.rot: is no setting; did you mean \"warder.root\"?");
  EXPECT_THAT(faultOf("warder.quux=1"), HasSubstr("is no setting"));
  EXPECT_THAT(faultOf("warder.=1"), HasSubstr("is no setting"));
}

TEST(Settings, EveryFaultIsTold) {
  EXPECT_THAT(readSettings("warder.rot=1 warder.host=-x warder.end=sleep").faults, SizeIs(3));
}

TEST(Settings, OneThatStandsTwiceOrIsEmptyIsRefused) {
  EXPECT_EQ(faultOf("warder.host=a warder.host=a"), "warder.host: stands twice");
  EXPECT_EQ(faultOf("warder.host="), "warder.host: has no value");
  EXPECT_EQ(faultOf("warder.host"), "warder.host: has no value");
}

TEST(Settings, WrongValuesAreRefusedWithTheRightForm) {
  for (const char* line : {"warder.root=vda",
                           "warder.root=/dev/../etc/passwd",
                           "warder.overlay=yes",
                           "warder.end=off",
                           "warder.init=warder",
                           "warder.host=a.b",
                           "warder.host=a_b",
                           "warder.ip=10.0.2.15",
                           "warder.ip=10.0.2.15/0",
                           "warder.ip=10.0.2.15/33",
                           "warder.ip=10.0.2.256/24",
                           "warder.ip=10.0.2.15/24,x",
                           "warder.ip=10.0.2.15/24,10.0.2.2,1",
                           "warder.ip=10.0.02.1/24",
                           "warder.ip=DHCP",
                           "warder.dns=example.com",
                           "warder.dns=10.0.2.3,",
                           "warder.clock=-1",
                           "warder.clock=now",
                           "warder.shm=64",
                           "warder.shm=1KiB",
                           "warder.job=vdb",
                           "warder.job=virtio:",
                           "warder.job=virtio:a/b",
                           "warder.job64=a",
                           "warder.job64=ab=c",
                           "warder.seed_file=../seed",
                           "warder.workspace=/workspace"})
    EXPECT_THAT(readSettings(line).faults, SizeIs(1)) << line;
}

TEST(Settings, LimitsHoldOnBothSides) {
  EXPECT_EQ(settingsOf("warder.host=" + std::string(63, 'a')).host.size(), 63u);
  EXPECT_THAT(faultOf("warder.host=" + std::string(64, 'a')), HasSubstr("at most 63"));
  EXPECT_THAT(settingsOf("warder.dns=1.1.1.1,2.2.2.2,3.3.3.3").dns, SizeIs(3));
  EXPECT_THAT(faultOf("warder.dns=1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4"), HasSubstr("more than 3"));
  EXPECT_EQ(settingsOf("warder.ip=10.0.0.1/32").address.prefix, 32);
  EXPECT_EQ(settingsOf("warder.ip=10.0.0.1/1").address.prefix, 1);
  EXPECT_EQ(settingsOf("warder.tmp=64Ki").tmp, 65536u);
  EXPECT_THAT(faultOf("warder.tmp=63Ki"), HasSubstr("less than 64KiB"));
  const std::string start = "warder.host=a x=";
  EXPECT_THAT(readSettings(start + std::string(kMostCommandLine - start.size(), 'x')).faults,
              IsEmpty());
  EXPECT_THAT(readSettings(start + std::string(kMostCommandLine - start.size() + 1, 'x')).faults,
              SizeIs(1));
}

TEST(Settings, OneJobAndNoSizeOfNothing) {
  EXPECT_THAT(faultOf("warder.job=/dev/vdb warder.job64=YQ=="), HasSubstr("a run has one job"));
  EXPECT_THAT(faultOf("warder.overlay=none warder.overlay_size=1Mi"), HasSubstr("no overlay"));
}

TEST(Settings, WhatStandsBehindTheDashesIsACommand) {
  const auto settings = settingsOf("warder.host=a -- sh -c \"echo warder.rot=1\" -- x");
  EXPECT_EQ(settings.host, "a");
  EXPECT_THAT(settings.command, ElementsAre("sh", "-c", "echo warder.rot=1", "--", "x"));
}

TEST(Settings, QuotesAreTheKernels) {
  EXPECT_THAT(commandLineWords("a=\"b c\" \"d=e f\"  g\n"), ElementsAre("a=b c", "d=e f", "g"));
  EXPECT_THAT(commandLineWords(""), IsEmpty());
  EXPECT_THAT(commandLineWords("\"\" x"), ElementsAre("", "x"));
}

TEST(Settings, AJobFromTheCommandLineIsText) {
  EXPECT_EQ(settingsOf("warder.job64=dmVyc2lvbjogMQo=").job_text, "version: 1\n");
  EXPECT_EQ(settingsOf("warder.job=virtio:warder.job").job_port, "warder.job");
}

TEST(Base64, OnlyTheCanonicalFormIsRead) {
  EXPECT_EQ(decodeBase64(""), "");
  EXPECT_EQ(decodeBase64("Zg=="), "f");
  EXPECT_EQ(decodeBase64("Zm8="), "fo");
  EXPECT_EQ(decodeBase64("Zm9v"), "foo");
  EXPECT_EQ(decodeBase64("+/+/"), "\xfb\xff\xbf");
  for (const char* wrong :
       {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "=Zg=", "Zm9v\n", "Zg==Zg==", "Zm 9", "-_-_"})
    EXPECT_FALSE(decodeBase64(wrong)) << wrong;
}

TEST(Ipv4Address, HasOneForm) {
  EXPECT_EQ(parseIpv4("255.255.255.255")->value, 0xffffffffu);
  EXPECT_EQ(printIpv4({0x0a000001}), "10.0.0.1");
  for (const char* wrong : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.", "1..3.4",
                            "+1.2.3.4", " 1.2.3.4", "1.2.3.4 ", "0x1.2.3.4"})
    EXPECT_FALSE(parseIpv4(wrong)) << wrong;
}

}  // namespace
}  // namespace warder::boot
