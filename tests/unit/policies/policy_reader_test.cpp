#include "policies/policy_reader.h"

#include <gmock/gmock.h>

#include "policies/explain.h"

namespace warder::policies {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string faultsOf(const std::string& body) {
  std::string all;
  for (const auto& fault : readPolicyText("version: 1\n" + body, "p.yaml", "p").faults) {
    all += base::render(fault) + "\n";
  }
  return all;
}

TEST(PolicyReader, ReadsShortAndLongRules) {
  const PolicyReading reading = readPolicyText(
      "version: 1\n"
      "allow:\n"
      "  - Example.org\n"
      "  - example.org:8443\n"
      "  - '[::1]:80'\n"
      "  - {host: '*.example.net', methods: [GET, HEAD], paths: [/a/**]}\n"
      "deny:\n"
      "  - 10.0.0.1\n",
      "p.yaml", "p");
  ASSERT_THAT(reading.faults, IsEmpty());
  const auto& allow = reading.policy.allow;
  ASSERT_EQ(allow.size(), 4U);
  EXPECT_EQ(allow[0].host, "example.org");
  EXPECT_EQ(allow[0].port, 443);
  EXPECT_EQ(allow[0].where, "p.yaml:3");
  EXPECT_EQ(allow[1].port, 8443);
  EXPECT_EQ(allow[2].host, "::1");
  EXPECT_EQ(allow[2].port, 80);
  EXPECT_THAT(allow[3].methods, ElementsAre("GET", "HEAD"));
  EXPECT_EQ(reading.policy.deny.at(0).host, "10.0.0.1");
}

TEST(PolicyReader, Bc079HostListsStayText) {
  const std::string faults = faultsOf("allow: [no, 'no', de, on]\n");
  EXPECT_THAT(faults, HasSubstr("p.yaml:2:9: allow[0]"));
  EXPECT_THAT(faults, HasSubstr("p.yaml:2:23: allow[3]"));
  EXPECT_EQ(readPolicyText("version: 1\nallow: ['no']\n", "p", "p").policy.allow.at(0).host, "no");
}

TEST(PolicyReader, TellsAllFaultsAtOnceWithTheirPlaces) {
  const std::string faults = faultsOf(
      "allow:\n"
      "  - '*'\n"
      "  - a.*.b\n"
      "  - {host: a.example, port: 0}\n"
      "  - {host: a.example, methods: [post]}\n"
      "  - {host: a.example, paths: [v1, '/a?b', '/../x']}\n"
      "  - {hosts: a.example}\n"
      "  - ::1\n"
      "  - a.example:99999\n"
      "  - {host: a.example, methods: []}\n"
      "  - '*.10.0.0.1'\n"
      "  - [x]\n"
      "denny: []\n");
  for (const char* part :
       {"p.yaml:3:5: host \"*\": a star stands only in front", "p.yaml:4:5: host \"a.*.b\"",
        "p.yaml:5:29: allow[2].port takes a whole number from 1 to 65535",
        "p.yaml:6:33: method \"post\" is none; write upper case", "path \"v1\"", "path \"/a?b\"",
        "path \"/../x\"", "unknown key \"allow[5].hosts\"; did you mean \"host\"?",
        "allow[5].host is missing", "in brackets, as \"[::1]\"", "port \"99999\"",
        "methods is empty", "host \"*.10.0.0.1\"", "allow[10] takes text; this is a list",
        "unknown key \"denny\"; did you mean \"deny\"?"}) {
    EXPECT_THAT(faults, HasSubstr(part));
  }
}

TEST(PolicyReader, NumbersOfRulesAndLengthsAreTestedOnBothSides) {
  std::string rules = "allow:\n";
  for (int i = 0; i < 1000; ++i) rules += "  - a.example\n";
  EXPECT_EQ(faultsOf(rules), "");
  EXPECT_THAT(faultsOf(rules + "  - a.example\n"), HasSubstr("more than 1000 rules"));
  const std::string longest = "/" + std::string(255, 'a');
  EXPECT_EQ(faultsOf("allow: [{host: a.example, paths: [" + longest + "]}]"), "");
  EXPECT_THAT(faultsOf("allow: [{host: a.example, paths: [" + longest + "a]}]"),
              HasSubstr("longer than 256 bytes"));
}

TEST(PolicyReader, AHostHasNoScheme) {
  const std::string faults =
      faultsOf("allow: ['http://a', 'https://a:8443/x', {host: 'http://a'}]");
  EXPECT_THAT(faults, HasSubstr("p.yaml:2:9: host \"http://a\" has a scheme"));
  EXPECT_THAT(faults, HasSubstr("p.yaml:2:21: host \"https://a:8443/x\" has a scheme"));
  EXPECT_THAT(faults, HasSubstr("p.yaml:2:48: host \"http://a\" has a scheme"));
}

TEST(PolicyReader, APathThatNoRequestCanHaveSaysHowToWriteIt) {
  EXPECT_THAT(faultsOf("deny: [{host: a.example, paths: [/café/**]}]"),
              HasSubstr("percent-encode it: \"/caf%C3%A9/**\""));
  EXPECT_EQ(faultsOf("deny: [{host: a.example, paths: [/caf%C3%A9/**]}]"), "");
  EXPECT_THAT(faultsOf("deny: [{host: a.example, paths: [\"/a\\x7f\"]}]"), HasSubstr("must begin"));
  EXPECT_THAT(faultsOf("deny: [{host: a.example, paths: [\"/a\\0\"]}]"), HasSubstr("NUL byte"));
}

TEST(PolicyReader, MissingVersionAndWrongTypesAreFaults) {
  EXPECT_THAT(readPolicyText("{}", "p", "p").faults.at(0).sentence, "version is missing");
  EXPECT_THAT(faultsOf("allow: a.example\n"), HasSubstr("allow takes a list of rules"));
  EXPECT_THAT(faultsOf("allow: {host: a}\n"), HasSubstr("this is a mapping"));
}

TEST(PolicyReader, EveryShippedPolicyReadsWithoutFault) {
  ASSERT_THAT(shippedPolicyNames(), ElementsAre("claude-code"));
  for (const std::string& name : shippedPolicyNames()) {
    EXPECT_THAT(readShippedPolicy(name, "").faults, IsEmpty()) << name;
  }
}

TEST(PolicyReader, ClaudeCodeMayPostMessagesAndNothingElse) {
  const Policy policy = readShippedPolicy("claude-code", "").policy;
  const auto allowed = [&](const char* method, const char* path) {
    return decide(policy, {"api.anthropic.com", 443, method, path}).allowed;
  };
  EXPECT_TRUE(allowed("POST", "/v1/messages"));
  EXPECT_TRUE(allowed("POST", "/v1/messages/count_tokens"));
  EXPECT_FALSE(allowed("POST", "/v1/messages/batches"));
  EXPECT_FALSE(allowed("GET", "/v1/models"));
  EXPECT_FALSE(allowed("HEAD", "/api/hello"));
  EXPECT_FALSE(allowed("POST", "/v1/organizations/api_keys"));
  EXPECT_EQ(policy.allow.at(0).where, "claude-code:4");
}

TEST(PolicyReader, AnUnknownShippedNameSuggestsTheNearest) {
  const auto faults = readShippedPolicy("claude-cod", "job.yaml:4:9").faults;
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].where, "job.yaml:4:9");
  EXPECT_THAT(faults[0].sentence, HasSubstr("did you mean \"claude-code\"?"));
}

TEST(PolicyReader, WhatMayFlowIsSaidByTlsProtocolAndPort) {
  const PolicyReading reading = readPolicyText(
      "version: 1\n"
      "allow:\n"
      "  - a.example\n"
      "  - a.example:80\n"
      "  - {host: b.example, port: 80, tls: intercept}\n"
      "  - {host: c.example, port: 8080, tls: off}\n"
      "  - {host: d.example, tls: tunnel}\n"
      "  - {host: e.example, port: 80, protocol: tcp}\n"
      "  - {host: f.example, port: 80, protocol: http}\n"
      "deny: ['a.example:80']\n",
      "p.yaml", "p");
  ASSERT_THAT(reading.faults, IsEmpty());
  std::vector<Flow> flows;
  for (const Rule& rule : reading.policy.allow) flows.push_back(rule.flow);
  EXPECT_THAT(flows, ElementsAre(Flow::Intercept, Flow::Plain, Flow::Intercept, Flow::Plain,
                                 Flow::Tunnel, Flow::Tcp, Flow::Plain));
}

TEST(Explain, SaysWhatIsNotInspected) {
  const Policy policy = readPolicyText(
                            "version: 1\nallow: ['a.example:80', {host: b.example, tls: tunnel}, "
                            "{host: c.example, port: 22, protocol: tcp}]\n",
                            "p.yaml", "p")
                            .policy;
  EXPECT_THAT(explain(policy),
              ElementsAre("allow  any method a.example:80 any path, plain HTTP  (p.yaml:2)",
                          "allow  TLS tunnel to b.example:443, not inspected  (p.yaml:2)",
                          "allow  any TCP to c.example:22, not inspected  (p.yaml:2)"));
}

TEST(Explain, Bc125ShowsThatDenyWinsWhenAHostStandsInBothLists) {
  const Policy policy =
      readPolicyText("version: 1\nallow: [a.example]\ndeny: [a.example]\n", "p.yaml", "p").policy;
  EXPECT_THAT(explain(policy),
              ElementsAre("deny   any method a.example:443 any path  (p.yaml:3)",
                          "allow  any method a.example:443 any path  (p.yaml:2)",
                          "note   a.example stands in allow (p.yaml:2) and in deny (p.yaml:3); "
                          "deny wins"));
  EXPECT_THAT(explain({}), ElementsAre("nothing is allowed"));
}

}  // namespace
}  // namespace warder::policies
