#include "supervisor/init/in_place.h"

#include <gmock/gmock.h>

namespace warder::init {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// BC-040: the home that the image gives this user.
TEST(HomeInPasswd, IsTheOneOfThisUid) {
  const std::string passwd =
      "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/bash\nbroken\nx:y:12:1\n"
      "odd:x:77:77::relative:/bin/sh\n";
  EXPECT_EQ(homeInPasswd(passwd, 1000), "/home/node");
  EXPECT_EQ(homeInPasswd(passwd, 0), "/root");
  for (const uid_t none : {1U, 12U, 77U, 100U}) EXPECT_EQ(homeInPasswd(passwd, none), "");
  EXPECT_EQ(homeInPasswd("", 0), "");
}

// BC-124: names that programs would ask a name server for.
TEST(MissingNames, AreThoseWithoutAnAddress) {
  EXPECT_THAT(missingNames("", {"localhost", "box"}), ElementsAre("localhost", "box"));
  EXPECT_THAT(missingNames("127.0.0.1\tlocalhost  # box\n", {"localhost", "box"}),
              ElementsAre("box"));
  EXPECT_THAT(missingNames("127.0.0.1 localhost\n172.17.0.2 a box\n", {"localhost", "box"}),
              IsEmpty());
  EXPECT_THAT(missingNames("# 127.0.0.1 localhost\nlocalhost\n", {"localhost"}),
              ElementsAre("localhost"));
}

// BC-086: a resolv.conf that is empty, missing or without a server.
TEST(NamesServer, WantsALineWithAServer) {
  EXPECT_TRUE(namesServer("search x\nnameserver 10.0.0.1\n"));
  EXPECT_TRUE(namesServer("nameserver ::1"));
  for (const char* none : {"", "nameserver\n", "# nameserver 10.0.0.1\n", "search x\n"})
    EXPECT_FALSE(namesServer(none)) << none;
}

}  // namespace
}  // namespace warder::init
