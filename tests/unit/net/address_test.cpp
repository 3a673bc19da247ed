// Which addresses need a rule that names them (BC-067: metadata in disguise).
#include "supervisor/net/address.h"

#include <gtest/gtest.h>

namespace warder::net {
namespace {

struct Case {
  const char* address;
  const char* use;
};

std::string useOf(const char* address) {
  return std::string(specialUse(boost::asio::ip::make_address(address)));
}

TEST(SpecialUse, NamesEveryBlockAtBothOfItsEnds) {
  const Case cases[] = {
      {"0.0.0.0", "this network"},
      {"0.255.255.255", "this network"},
      {"10.0.0.0", "private"},
      {"10.255.255.255", "private"},
      {"100.64.0.0", "carrier-grade NAT"},
      {"100.100.100.200", "carrier-grade NAT"},
      {"100.127.255.255", "carrier-grade NAT"},
      {"127.0.0.1", "loopback"},
      {"127.255.255.255", "loopback"},
      {"168.63.129.16", "cloud metadata"},
      {"169.254.0.0", "link-local"},
      {"169.254.169.254", "link-local"},
      {"169.254.255.255", "link-local"},
      {"172.16.0.0", "private"},
      {"172.31.255.255", "private"},
      {"192.0.0.192", "protocol assignments"},
      {"192.0.2.1", "documentation"},
      {"192.88.99.1", "6to4 relay"},
      {"192.168.0.0", "private"},
      {"192.168.255.255", "private"},
      {"198.18.0.0", "benchmarking"},
      {"198.19.255.255", "benchmarking"},
      {"198.51.100.7", "documentation"},
      {"203.0.113.7", "documentation"},
      {"224.0.0.0", "multicast"},
      {"239.255.255.255", "multicast"},
      {"240.0.0.0", "reserved"},
      {"255.255.255.255", "reserved"},
      {"::", "this network"},
      {"::1", "loopback"},
      {"::7f00:1", "IPv4-mapped or reserved"},
      {"::ffff:169.254.169.254", "IPv4-mapped or reserved"},
      {"::ffff:8.8.8.8", "IPv4-mapped or reserved"},
      {"64:ff9b::a9fe:a9fe", "link-local"},
      {"64:ff9b::7f00:1", "loopback"},
      {"64:ff9b::10.0.0.1", "private"},
      {"64:ff9b:1::1", "local NAT64"},
      {"100::1", "discard or reserved"},
      {"2001::1", "Teredo or protocol assignments"},
      {"2001:1ff:ffff::", "Teredo or protocol assignments"},
      {"2001:db8::1", "documentation"},
      {"2002:a9fe:a9fe::1", "6to4"},
      {"3fff::1", "documentation"},
      {"4000::1", "reserved"},
      {"5f00::1", "reserved"},
      {"fc00::1", "unique local"},
      {"fd00:ec2::254", "unique local"},
      {"fdff:ffff::1", "unique local"},
      {"fe80::1", "link-local"},
      {"febf::1", "link-local"},
      {"fec0::1", "site-local"},
      {"ff02::1", "multicast"},
  };
  for (const Case& one : cases) EXPECT_EQ(useOf(one.address), one.use) << one.address;
}

TEST(SpecialUse, LeavesPublicAddressesAloneRightBesideTheBlocks) {
  const char* const addresses[] = {
      "1.0.0.0",         "9.255.255.255",  "11.0.0.0",         "100.63.255.255", "100.128.0.0",
      "126.255.255.255", "128.0.0.0",      "168.63.129.15",    "168.63.129.17",  "169.253.255.255",
      "169.255.0.0",     "172.15.255.255", "172.32.0.0",       "192.0.1.0",      "192.167.255.255",
      "192.169.0.0",     "198.17.255.255", "198.20.0.0",       "203.0.114.0",    "223.255.255.255",
      "2000::1",         "2001:200::1",    "2001:db7::1",      "2001:db9::1",    "2003::1",
      "2606:4700::1111", "3ffe:ffff::1",   "64:ff9b::8.8.8.8",
  };
  for (const char* address : addresses) EXPECT_EQ(useOf(address), "") << address;
}

}  // namespace
}  // namespace warder::net
