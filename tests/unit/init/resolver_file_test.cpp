#include "supervisor/init/resolver_file.h"

#include <gmock/gmock.h>

namespace warder::init {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(UnreachableServers, AreNoneWhereOneServerHasAnAddressOfVersionFour) {
  for (const char* text :
       {"nameserver 127.0.0.11\n", "nameserver 10.0.0.2\noptions ndots:5\n",
        "search x\n  nameserver\t8.8.8.8\n", "nameserver fe80::1%eth0\nnameserver 10.0.0.2\n"})
    EXPECT_THAT(unreachableServers(text, false), IsEmpty()) << text;
}

TEST(UnreachableServers, AreNoneWhereNoneIsNamed) {
  for (const char* text : {"", "# nameserver ::1\n", "nameserver\n", "search example.org\n"})
    EXPECT_THAT(unreachableServers(text, false), IsEmpty()) << text;
}

TEST(UnreachableServers, AreThoseOfVersionSixWhereThereIsNone) {
  EXPECT_THAT(unreachableServers("nameserver ::1\nnameserver 2001:db8::1\n", false),
              ElementsAre("::1", "2001:db8::1"));
  EXPECT_THAT(unreachableServers("nameserver ::1\nnameserver 2001:db8::1\n", true), IsEmpty());
}

TEST(UnreachableServers, AreThoseOfALinkThatTheAgentDoesNotHave) {
  for (const char* server : {"fe80::1%eth0", "fe80::1", "not-an-address"})
    EXPECT_THAT(unreachableServers(std::string("nameserver ") + server, true), ElementsAre(server));
}

TEST(UnreachableServers, CountThreeServersAsTheResolversDo) {
  EXPECT_THAT(unreachableServers("nameserver fe80::1\nnameserver fe80::2\nnameserver fe80::3\n"
                                 "nameserver 10.0.0.1\n",
                                 true),
              ElementsAre("fe80::1", "fe80::2", "fe80::3"));
  EXPECT_THAT(
      unreachableServers("nameserver fe80::1\nnameserver fe80::2\nnameserver 10.0.0.1\n", true),
      IsEmpty());
}

}  // namespace
}  // namespace warder::init
