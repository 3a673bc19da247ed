#include "secrets/http/target.h"

#include <gtest/gtest.h>

namespace warder::http {
namespace {

TEST(Target, KeepsPathAndQueryAsTheyWereSent) {
  const auto target = parseTarget("/v1/messages?beta=true&x=%20");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/v1/messages");
  EXPECT_EQ(target->query, "?beta=true&x=%20");
  EXPECT_EQ(parseTarget("/")->path, "/");
  EXPECT_EQ(parseTarget("/a/")->path, "/a/");
  EXPECT_EQ(parseTarget("/a%20b/%c3%a4")->path, "/a%20b/%c3%a4");
  EXPECT_EQ(parseTarget("/a?b?c=//..")->query, "?b?c=//..");
}

TEST(Target, RefusesEverySecondSpelling) {
  const std::string targets[] = {
      "",
      "*",
      "v1/messages",
      "http://api.example/v1/messages",
      "api.example:443",
      "//v1/messages",
      "/v1//messages",
      "/v1/../messages",
      "/v1/./messages",
      "/..",
      "/v1/..",
      "/v1/messages/.",
      "/%2e%2e/v1",
      "/v1/%2E",
      "/v1%2fmessages",
      "/v1%2Fmessages",
      "/v1\\messages",
      "/v1%5cmessages",
      "/v1/%00",
      "/v1/messages%00",
      "/v1/%0d%0aX:",
      "/v1/%7f",
      "/v1/%252e%252e",
      "/v1/%3f",
      "/v1/%23",
      "/v1/a%3bb",
      "/v1/%",
      "/v1/%4",
      "/v1/%zz",
      "/v1/messages#fragment",
      "/v1/messages?x#y",
      "/v1/messages?%00",
      "/v1/messages?%0a",
      "/v1/messages?%g1",
      "/v1/ messages",
      "/v1/\tmessages",
      "/v1/m\xc3\xa4",
      std::string("/v1\0", 4),
  };
  for (const std::string& target : targets) EXPECT_FALSE(parseTarget(target)) << target;
}

}  // namespace
}  // namespace warder::http
