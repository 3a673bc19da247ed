#include "collector/access.h"

#include <gtest/gtest.h>

#include "collector/base64.h"
#include "tests/support/run_folder.h"

namespace warder::collector {
namespace {

std::string basic(const std::string& text) {
  return "Basic " + toBase64(text);
}

TEST(Access, KeepsThePurposesOfTokensApart) {
  const Access access("ingest-token", "read-token");
  EXPECT_EQ(access.decide(Right::Ingest, "Bearer ingest-token"), Verdict::Allowed);
  EXPECT_EQ(access.decide(Right::Read, "Bearer read-token"), Verdict::Allowed);
  EXPECT_EQ(access.decide(Right::Ingest, "Bearer read-token"), Verdict::Forbidden);
  EXPECT_EQ(access.decide(Right::Read, "Bearer ingest-token"), Verdict::Forbidden);
  EXPECT_EQ(access.decide(Right::Either, "Bearer ingest-token"), Verdict::Allowed);
  EXPECT_EQ(access.decide(Right::Either, "Bearer other"), Verdict::Unauthenticated);
}

TEST(Access, TakesTheReadTokenAsAPasswordOfAnyUser) {
  const Access access("ingest-token", "read-token");
  EXPECT_EQ(access.decide(Right::Read, basic("anyone:read-token")), Verdict::Allowed);
  EXPECT_EQ(access.decide(Right::Read, basic(":read-token")), Verdict::Allowed);
  EXPECT_EQ(access.decide(Right::Read, basic("read-token")), Verdict::Unauthenticated);
  EXPECT_EQ(access.decide(Right::Read, basic("read-token:")), Verdict::Unauthenticated);
  EXPECT_EQ(access.decide(Right::Read, "Basic !!!!"), Verdict::Unauthenticated);
}

TEST(Access, RefusesEverythingThatIsNoToken) {
  const Access access("ingest-token", "read-token");
  for (const char* header : {"", "Bearer", "Bearer ", "ingest-token", "Digest ingest-token",
                             "Bearer ingest-toke", "Bearer ingest-tokenn", "Bearer  ingest-token"})
    EXPECT_EQ(access.decide(Right::Ingest, header), Verdict::Unauthenticated) << header;
}

TEST(Access, IsOpenForReadersOnlyWithoutAReadToken) {
  const Access access("ingest-token", std::nullopt);
  EXPECT_TRUE(access.readIsOpen());
  EXPECT_EQ(access.decide(Right::Read, ""), Verdict::Allowed);
  EXPECT_EQ(access.decide(Right::Ingest, ""), Verdict::Unauthenticated);
  EXPECT_EQ(access.decide(Right::None, ""), Verdict::Allowed);
}

TEST(Access, KnowsTheNamesOfThisMachine) {
  for (const char* host : {"localhost", "localhost:8480", "LOCALHOST", "127.0.0.1", "127.9.9.9:1",
                           "[::1]", "[::1]:8480"})
    EXPECT_TRUE(isLoopbackHost(host)) << host;
  for (const char* host : {"", "example.org", "localhost.example.org", "127.0.0.1.example.org",
                           "10.0.0.1", "[::2]", "[::1]x", "[::1", "::1", "0x7f.1", "2130706433"})
    EXPECT_FALSE(isLoopbackHost(host)) << host;
}

TEST(Token, IsOneLineOfSixteenTo4096VisibleCharacters) {
  support::TemporaryFolder folder;
  const std::string path = folder.path + "/token";
  const auto read = [&](const std::string& text) {
    support::writeText(path, text);
    return readToken(path);
  };
  EXPECT_EQ(*read("0123456789abcdef\n"), "0123456789abcdef");
  EXPECT_TRUE(read(std::string(4096, 'x') + "\r\n"));
  EXPECT_FALSE(read(std::string(4097, 'x')));
  EXPECT_FALSE(read("0123456789abcde"));
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read("0123456789 abcdef"));
  EXPECT_FALSE(read("0123456789abcdef\nsecond"));
  EXPECT_FALSE(readToken(folder.path + "/none"));
}

TEST(Base64, IsReadInItsCanonicalSpellingOnly) {
  for (const std::string text : {"a", "ab", "abc", "abcd"})
    EXPECT_EQ(fromBase64(toBase64(text)), text);
  for (const char* text : {"", "YQ", "YQ=", "YR==", "YQ==YQ==", " YQ=", "YQ==\n", "Y===", "===="})
    EXPECT_EQ(fromBase64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace warder::collector
