#include <gtest/gtest.h>

#include "policies/policy.h"

namespace warder::policies {
namespace {

TEST(CanonicalHost, GivesOneSpellingForEachHost) {
  const std::pair<const char*, const char*> table[] = {
      {"Example.ORG", "example.org"},
      {"example.org.", "example.org"},
      {"localhost", "localhost"},
      {"_dns.example.org", "_dns.example.org"},
      {"xn--bcher-kva.example", "xn--bcher-kva.example"},
      {"1.example", "1.example"},
      {"10.0.0.1", "10.0.0.1"},
      {"10.0.0.1.", "10.0.0.1"},
      {"[::1]", "::1"},
      {"::1", "::1"},
      {"2001:DB8::0:1", "2001:db8::1"},
      {"[::ffff:10.0.0.1]", "10.0.0.1"},
      {"::ffff:a00:1", "10.0.0.1"},
      {"a-b.c", "a-b.c"},
      {"0xa.example", "0xa.example"}};
  for (const auto& [name, canonical] : table) {
    EXPECT_EQ(canonicalHost(name), canonical) << name;
    EXPECT_EQ(canonicalHost(canonical), canonical) << "not stable: " << canonical;
  }
}

TEST(CanonicalHost, RefusesWhatIsNoHost) {
  for (const std::string& name : {std::string(""),
                                  std::string("."),
                                  std::string(".."),
                                  std::string("a..b"),
                                  std::string(".a"),
                                  std::string("a.."),
                                  std::string("-a.b"),
                                  std::string("a-.b"),
                                  std::string("a_b.c"),
                                  std::string("a._"),
                                  std::string("a%2eb"),
                                  std::string("a b"),
                                  std::string("a/b"),
                                  std::string("a\0b", 3),
                                  std::string("127.0.0.1\0", 10),
                                  std::string("b\xc3\xbc"
                                              "cher.example"),
                                  std::string("127.1"),
                                  std::string("2130706433"),
                                  std::string("0x7f.1"),
                                  std::string("0x7f000001"),
                                  std::string("0177.0.0.1"),
                                  std::string("1.2.3.4.5"),
                                  std::string("256.1.1.1"),
                                  std::string("a.1"),
                                  std::string("[::1"),
                                  std::string("::1]"),
                                  std::string("fe80::1%lo"),
                                  std::string("[]"),
                                  std::string(":"),
                                  std::string("a:80"),
                                  std::string("[10.0.0.1]"),
                                  std::string("*.a"),
                                  std::string("user@host"),
                                  std::string("a\n")}) {
    EXPECT_EQ(canonicalHost(name), "") << name;
  }
}

TEST(CanonicalHost, Bc067AddressesInDisguiseAreNoNames) {
  for (const char* name : {"2852039166", "0xA9FEA9FE", "0xa9fea9fe.", "0251.0376.0251.0376",
                           "169.254.43518", "169.16689662", "0xa9.0xfe.0xa9.0xfe",
                           "169.254.169.0376", "0x", "a.0x1", "169.254.169.254.."}) {
    EXPECT_EQ(canonicalHost(name), "") << name;
  }
  for (const char* name : {"[::ffff:169.254.169.254]", "::FFFF:A9FE:A9FE",
                           "0:0:0:0:0:ffff:a9fe:a9fe", "169.254.169.254."}) {
    EXPECT_EQ(canonicalHost(name), "169.254.169.254") << name;
  }
}

TEST(CanonicalHost, Bc050LettersBeyondAsciiAreNoneOfAHost) {
  for (const char* name :
       {"\xef\xbd\x81.example",
        "a\xe3\x80\x82"
        "example",
        "a\xef\xbc\x8e"
        "example",
        "\xd0\xb0.example", "a\xc2\xad.example", "a\x7f.example", "a\t.example", "a.example\r"}) {
    EXPECT_EQ(canonicalHost(name), "") << name;
  }
}

TEST(CanonicalHost, LengthsAreTestedOnBothSides) {
  const std::string label(63, 'a');
  EXPECT_EQ(canonicalHost(label + ".b"), label + ".b");
  EXPECT_EQ(canonicalHost(label + "a.b"), "");
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'a');
  ASSERT_EQ(longest.size(), 253U);
  EXPECT_EQ(canonicalHost(longest), longest);
  EXPECT_EQ(canonicalHost(longest + "."), longest);
  EXPECT_EQ(canonicalHost(longest + "a"), "");
}

}  // namespace
}  // namespace warder::policies
