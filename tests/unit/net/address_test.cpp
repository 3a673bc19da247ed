// Which addresses need a rule that names them (BC-067: metadata in disguise).
#include "supervisor/net/address.h"

#include <gtest/gtest.h>

namespace warder::net {
namespace {

struct Case {
  const char* address;
  Reach reach;
  const char* use;
};

AddressUse useOfText(const std::string& address) {
  return useOf(boost::asio::ip::make_address(address));
}

void expectAll(std::initializer_list<Case> cases) {
  for (const Case& one : cases) {
    const AddressUse use = useOfText(one.address);
    EXPECT_EQ(use.use, one.use) << one.address;
    EXPECT_EQ(use.reach, one.reach) << one.address;
    EXPECT_EQ(specialUse(boost::asio::ip::make_address(one.address)), one.use);
  }
}

TEST(UseOf, Bc067NamesEveryBlockOfIpv4AtBothOfItsEnds) {
  expectAll({
      {"0.0.0.0", Reach::Nobody, "this network"},
      {"0.255.255.255", Reach::Nobody, "this network"},
      {"10.0.0.0", Reach::NamedHost, "private"},
      {"10.255.255.255", Reach::NamedHost, "private"},
      {"100.64.0.0", Reach::NamedHost, "carrier-grade NAT"},
      {"100.100.100.199", Reach::NamedHost, "carrier-grade NAT"},
      {"100.100.100.200", Reach::NamedAddress, "cloud metadata"},
      {"100.100.100.201", Reach::NamedHost, "carrier-grade NAT"},
      {"100.127.255.255", Reach::NamedHost, "carrier-grade NAT"},
      {"127.0.0.0", Reach::NamedHost, "loopback"},
      {"127.0.0.1", Reach::NamedHost, "loopback"},
      {"127.255.255.255", Reach::NamedHost, "loopback"},
      {"168.63.129.16", Reach::NamedAddress, "cloud metadata"},
      {"169.254.0.0", Reach::NamedAddress, "link-local"},
      {"169.254.169.253", Reach::NamedAddress, "link-local"},
      {"169.254.169.254", Reach::NamedAddress, "cloud metadata"},
      {"169.254.170.2", Reach::NamedAddress, "link-local"},
      {"169.254.255.255", Reach::NamedAddress, "link-local"},
      {"172.16.0.0", Reach::NamedHost, "private"},
      {"172.31.255.255", Reach::NamedHost, "private"},
      {"192.0.0.0", Reach::NamedAddress, "protocol assignments"},
      {"192.0.0.192", Reach::NamedAddress, "cloud metadata"},
      {"192.0.0.255", Reach::NamedAddress, "protocol assignments"},
      {"192.0.2.0", Reach::NamedHost, "documentation"},
      {"192.0.2.255", Reach::NamedHost, "documentation"},
      {"192.88.99.0", Reach::NamedAddress, "6to4 relay"},
      {"192.88.99.255", Reach::NamedAddress, "6to4 relay"},
      {"192.168.0.0", Reach::NamedHost, "private"},
      {"192.168.255.255", Reach::NamedHost, "private"},
      {"198.18.0.0", Reach::Nobody, "benchmarking"},
      {"198.19.255.255", Reach::Nobody, "benchmarking"},
      {"198.51.100.0", Reach::NamedHost, "documentation"},
      {"198.51.100.255", Reach::NamedHost, "documentation"},
      {"203.0.113.0", Reach::NamedHost, "documentation"},
      {"203.0.113.255", Reach::NamedHost, "documentation"},
      {"224.0.0.0", Reach::Nobody, "multicast"},
      {"239.255.255.255", Reach::Nobody, "multicast"},
      {"240.0.0.0", Reach::Nobody, "reserved"},
      {"255.255.255.255", Reach::Nobody, "reserved"},
  });
}

TEST(UseOf, Bc067NamesEveryBlockOfIpv6AtBothOfItsEnds) {
  expectAll({
      {"::", Reach::Nobody, "this network"},
      {"::1", Reach::NamedHost, "loopback"},
      {"::2", Reach::Nobody, "IPv4-mapped or reserved"},
      {"::7f00:1", Reach::Nobody, "IPv4-mapped or reserved"},
      {"::fffe:ffff:ffff", Reach::Nobody, "IPv4-mapped or reserved"},
      {"64:ff9b:1::", Reach::Nobody, "local NAT64"},
      {"64:ff9b:1:ffff:ffff:ffff:808:808", Reach::NamedHost, "local NAT64"},
      {"100::", Reach::Nobody, "discard or reserved"},
      {"1ff:ffff::1", Reach::Nobody, "discard or reserved"},
      {"2001::", Reach::NamedAddress, "Teredo or protocol assignments"},
      {"2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::NamedAddress,
       "Teredo or protocol assignments"},
      {"2001:db8::", Reach::NamedHost, "documentation"},
      {"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Reach::NamedHost, "documentation"},
      {"3fff::", Reach::NamedHost, "documentation"},
      {"3fff:fff:ffff::1", Reach::NamedHost, "documentation"},
      {"1fff::1", Reach::Nobody, "reserved"},
      {"4000::1", Reach::Nobody, "reserved"},
      {"5f00::1", Reach::Nobody, "reserved"},
      {"fbff::1", Reach::Nobody, "reserved"},
      {"fc00::", Reach::NamedHost, "unique local"},
      {"fd00:ec2::253", Reach::NamedHost, "unique local"},
      {"fd00:ec2::254", Reach::NamedAddress, "cloud metadata"},
      {"fd00:ec2::255", Reach::NamedHost, "unique local"},
      {"fd20:ce::254", Reach::NamedAddress, "cloud metadata"},
      {"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::NamedHost, "unique local"},
      {"fe7f:ffff::1", Reach::Nobody, "reserved"},
      {"fe80::", Reach::NamedAddress, "link-local"},
      {"febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::NamedAddress, "link-local"},
      {"fec0::", Reach::NamedHost, "site-local"},
      {"feff::1", Reach::NamedHost, "site-local"},
      {"ff00::", Reach::Nobody, "multicast"},
      {"ff02::1", Reach::Nobody, "multicast"},
  });
}

TEST(UseOf, Bc067AnAddressThatCarriesAnotherNeedsWhatThatOneNeeds) {
  expectAll({
      {"::ffff:8.8.8.8", Reach::NamedHost, "IPv4-mapped or reserved"},
      {"::ffff:10.0.0.1", Reach::NamedHost, "IPv4-mapped or reserved"},
      {"::ffff:169.254.169.254", Reach::NamedAddress, "IPv4-mapped or reserved"},
      {"::ffff:198.18.0.1", Reach::Nobody, "IPv4-mapped or reserved"},
      {"64:ff9b::a9fe:a9fe", Reach::NamedAddress, "cloud metadata"},
      {"64:ff9b::7f00:1", Reach::NamedHost, "loopback"},
      {"64:ff9b::10.0.0.1", Reach::NamedHost, "private"},
      {"64:ff9b::198.19.255.255", Reach::Nobody, "benchmarking"},
      {"64:ff9b::100.100.100.200", Reach::NamedAddress, "cloud metadata"},
      {"64:ff9b:1::10.0.0.1", Reach::NamedHost, "local NAT64"},
      {"64:ff9b:1::a9fe:a9fe", Reach::NamedAddress, "local NAT64"},
      {"2002::1", Reach::Nobody, "6to4"},
      {"2002:808:808::1", Reach::NamedHost, "6to4"},
      {"2002:a9fe:a9fe::1", Reach::NamedAddress, "6to4"},
      {"2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Reach::Nobody, "6to4"},
  });
}

TEST(UseOf, LeavesPublicAddressesAloneRightBesideTheBlocks) {
  const char* const addresses[] = {
      "1.0.0.0",          "9.255.255.255",
      "11.0.0.0",         "100.63.255.255",
      "100.128.0.0",      "126.255.255.255",
      "128.0.0.0",        "168.63.129.15",
      "168.63.129.17",    "169.253.255.255",
      "169.255.0.0",      "172.15.255.255",
      "172.32.0.0",       "191.255.255.255",
      "192.0.1.0",        "192.0.1.255",
      "192.0.3.0",        "192.88.98.255",
      "192.88.100.0",     "192.167.255.255",
      "192.169.0.0",      "198.17.255.255",
      "198.20.0.0",       "198.51.99.255",
      "198.51.101.0",     "203.0.112.255",
      "203.0.114.0",      "223.255.255.255",
      "2000::",           "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
      "2001:200::",       "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
      "2001:db9::",       "2001:ffff::1",
      "2003::",           "2606:4700::1111",
      "3ffe:ffff::1",     "3fff:1000::",
      "64:ff9b::8.8.8.8",
  };
  for (const char* address : addresses) {
    EXPECT_EQ(useOfText(address).use, "") << address;
    EXPECT_EQ(useOfText(address).reach, Reach::Public) << address;
  }
  EXPECT_NE(useOfText("64:ff9b:0:1::8.8.8.8").reach, Reach::Public);
}

}  // namespace
}  // namespace warder::net
