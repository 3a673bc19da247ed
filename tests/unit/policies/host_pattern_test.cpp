// BC-068: what a star means, and which hosts of rules are refused with what sentence.
#include "policies/host_pattern.h"

#include <gmock/gmock.h>

#include "policies/policy.h"
#include "policies/policy_reader.h"
#include "policies/public_suffix.h"
#include "policies/punycode.h"

namespace warder::policies {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kHosts[] = {"x.com",      "a.x.com", "a.b.x.com", "evilx.com",
                                  "x.com.evil", "com",     "xxcom",     "a.evilx.com"};

std::string matchedBy(const std::string& pattern) {
  std::string matched;
  for (const char* host : kHosts) {
    if (matchesHost(pattern, host)) matched += (matched.empty() ? "" : " ") + std::string(host);
  }
  return matched;
}

TEST(MatchesHost, Bc068EachFormHasOneMeaningByWholeLabels) {
  EXPECT_EQ(matchedBy("x.com"), "x.com");
  EXPECT_EQ(matchedBy("*.x.com"), "a.x.com");
  EXPECT_EQ(matchedBy("**.x.com"), "a.x.com a.b.x.com");
}

TEST(MatchesHost, APatternForNamesMatchesNoAddress) {
  EXPECT_FALSE(matchesHost("*.example", "::1"));
  EXPECT_FALSE(matchesHost("**.example", "10.0.0.1"));
  EXPECT_TRUE(matchesHost("10.0.0.1", "10.0.0.1"));
}

TEST(Specificity, GrowsWhereFewerHostsMatch) {
  EXPECT_GT(specificity("a.b.example"), specificity("*.b.example"));
  EXPECT_GT(specificity("*.b.example"), specificity("**.b.example"));
  EXPECT_GT(specificity("**.b.example"), specificity("*.example"));
}

TEST(ReadHostPattern, TakesNamesPatternsAndAddresses) {
  for (const auto& [written, host] : {std::pair{"X.com.", "x.com"},
                                      {"*.X.com", "*.x.com"},
                                      {"**.x.com", "**.x.com"},
                                      {"[::FFFF:10.0.0.1]", "10.0.0.1"},
                                      {"xn--BCHER-kva.example", "xn--bcher-kva.example"}}) {
    const HostReading reading = readHostPattern(written);
    EXPECT_EQ(reading.host, host);
    EXPECT_EQ(reading.fault, "");
  }
}

TEST(ReadHostPattern, Bc068WhatCanMatchNothingOrAllIsRefusedWithWhatWouldBeValid) {
  const std::pair<const char*, const char*> table[] = {
      {".x.com",
       "write x.com for the name itself, *.x.com for names with one label more, "
       "**.x.com for all names below it"},
      {"*", "nothing allows all hosts"},
      {"**", "nothing allows all hosts"},
      {"*.", "nothing allows all hosts"},
      {"*.*", "nothing allows all hosts"},
      {"***.x.com", "*.x.com is one label more, **.x.com any number"},
      {"*.*.x.com", "*.x.com is one label more, **.x.com any number"},
      {"**.*.x.com", "a star stands only in front, once"},
      {"api.*", "list the names, one rule each"},
      {"api.*.com", "for whole labels"},
      {"*x.com", "for whole labels"},
      {"a*.x.com", "for whole labels"},
      {"*.10.0.0.1", "nothing is below an IP address"},
      {"*.::1", "nothing is below an IP address"},
      {"*..x.com", "is no host name"},
      {"", "is no host name"},
      {"a b", "is no host name"},
      {"-a.example", "is no host name"},
      {"10.0.0.0/8", "a rule names one address"},
      {"x.com/path", "has a path, which stands under paths"},
      {"x.com:8443", "has a port, which stands under port"},
      {"https://x.com", "has a scheme"},
      {"fe80::1%eth0", "a host has no zone"},
      {"x%2ecom", "a host has no zone and no escapes"}};
  for (const auto& [written, part] : table) {
    const HostReading reading = readHostPattern(written);
    EXPECT_EQ(reading.host, "") << written;
    EXPECT_THAT(reading.fault, HasSubstr(part)) << written;
  }
}

TEST(ReadHostPattern, Bc067NumbersThatAreReadAsAddressesAreRefusedWithTheAddress) {
  for (const char* written :
       {"2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518", "0xa9.254.0251.0xfe"}) {
    EXPECT_THAT(readHostPattern(written).fault, HasSubstr("the address 169.254.169.254"))
        << written;
  }
}

TEST(ReadHostPattern, NamesBeyondAsciiAreToldInTheirAsciiForm) {
  EXPECT_THAT(readHostPattern("b\xc3\xbc"
                              "cher.example")
                  .fault,
              HasSubstr("\"xn--bcher-kva.example\""));
  EXPECT_THAT(readHostPattern("*.B\xc3\x9c"
                              "CHER.example")
                  .fault,
              HasSubstr("\"*.xn--bcher-kva.example\""));
  // Full-width digits, an ideographic full stop, a combining mark: no spelling is guessed.
  for (const char* written : {"\xef\xbc\x91.example",
                              "a\xe3\x80\x82"
                              "example",
                              "u\xcc\x88.example", "\xff.example"}) {
    EXPECT_THAT(readHostPattern(written).fault, HasSubstr("with xn--")) << written;
  }
}

TEST(ReadHostPattern, LengthsAreTestedOnBothSides) {
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + std::string(59, 'a');
  ASSERT_EQ(longest.size(), 251U);
  EXPECT_EQ(readHostPattern("*." + longest).fault, "");
  EXPECT_TRUE(matchesHost("*." + longest, "b." + longest));
  EXPECT_THAT(readHostPattern("**." + longest + "a").fault, HasSubstr("matches nothing"));
}

TEST(PunycodeName, IsAsInRfc3492) {
  EXPECT_EQ(punycodeName("b\xc3\xbc"
                         "cher.example"),
            "xn--bcher-kva.example");
  EXPECT_EQ(punycodeName("\xd0\xbf\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80"), "xn--e1afmkfd");
  EXPECT_EQ(punycodeName("\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88\xe4\xb8"
                         "\x8d\xe8\xaf\xb4\xe4\xb8\xad\xe6\x96\x87"),
            "xn--ihqwcrb4cv8a8dqg056pqjye");
  EXPECT_EQ(punycodeName("plain.example"), "plain.example");
  EXPECT_EQ(punycodeName("\xf0\x9f\x92\xa9.la"), "xn--ls8h.la");
}

TEST(SuffixKind, TellsTheNameSystemsSuffixesFromCompanies) {
  for (const char* name : {"com", "co.uk", "org", "xn--p1ai", "ck", "foo.ck", "xn--55qx5d.cn"})
    EXPECT_EQ(suffixKind(name), Suffix::Public) << name;
  for (const char* name : {"github.io", "s3.amazonaws.com", "eu.compute.amazonaws.com"})
    EXPECT_EQ(suffixKind(name), Suffix::Shared) << name;
  for (const char* name : {"example.com", "amazonaws.com", "www.ck", "internal", "local",
                           "a.b.example.co.uk", "city.kobe.jp", "c", "githu", "x.github.io"}) {
    EXPECT_EQ(suffixKind(name), Suffix::None) << name;
  }
}

std::string faultsOf(const std::string& rule, const char* list = "allow") {
  std::string all;
  const auto reading =
      readPolicyText("version: 1\n" + std::string(list) + ": [" + rule + "]\n", "p.yaml", "p");
  for (const auto& fault : reading.faults) all += base::render(fault) + "\n";
  return all;
}

TEST(PolicyReader, Bc068PatternsBelowAPublicSuffixAreRefused) {
  EXPECT_THAT(faultsOf("'*.com'"),
              HasSubstr("p.yaml:2:9: host \"*.com\": below com anybody can register a name; write "
                        "the name of one owner, as *.example.com"));
  EXPECT_THAT(faultsOf("{host: '**.co.uk'}"), HasSubstr("as **.example.co.uk"));
  EXPECT_THAT(faultsOf("'*.example.com'"), IsEmpty());
  EXPECT_THAT(faultsOf("'**.internal'"), IsEmpty());
  EXPECT_THAT(faultsOf("'*.com'", "deny"), IsEmpty());
  EXPECT_THAT(faultsOf("{host: '*.com', shared_suffix: true}"), HasSubstr("register a name"));
}

TEST(PolicyReader, Bc068PatternsThatOpenEverybodysStorageMustBeMeant) {
  EXPECT_THAT(faultsOf("'*.github.io'"),
              HasSubstr("below github.io anybody can have a name or storage; list the names, or "
                        "write shared_suffix: true to allow all of them"));
  EXPECT_THAT(faultsOf("{host: '*.github.io', shared_suffix: true}"), IsEmpty());
  EXPECT_THAT(faultsOf("{host: '*.github.io', shared_suffix: false}"), HasSubstr("or storage"));
  EXPECT_THAT(faultsOf("github.io"), IsEmpty());
  EXPECT_THAT(faultsOf("'*.github.io'", "deny"), IsEmpty());
  EXPECT_THAT(faultsOf("{host: a.github.io, shared_suffix: true}"), HasSubstr("leave it out"));
  EXPECT_THAT(faultsOf("{host: a.example, shared_suffix: true}", "deny"),
              HasSubstr("deny[0].shared_suffix has no meaning here"));
}

}  // namespace
}  // namespace warder::policies
