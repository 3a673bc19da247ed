#include <gmock/gmock.h>

#include "policies/path_glob.h"
#include "policies/policy.h"
#include "policies/policy_json.h"

namespace warder::policies {
namespace {

using ::testing::HasSubstr;

Rule rule(std::string host, std::vector<std::string> methods = {},
          std::vector<std::string> paths = {}) {
  return {std::move(host), 443, std::move(methods), std::move(paths), "p:1"};
}

bool allows(const Policy& policy, const Request& request) {
  return decide(policy, request).allowed;
}

TEST(Decide, AnEmptyPolicyAllowsNothing) {
  const Decision decision = decide({}, {"example.org", 443, "GET", "/"});
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.rule, "");
  EXPECT_THAT(decision.reason, HasSubstr("the policy allows nothing"));
}

TEST(Decide, HostPortMethodAndPathMustAllAgree) {
  const Policy policy{"p", {rule("a.example", {"POST"}, {"/v1/messages"})}, {}};
  EXPECT_TRUE(allows(policy, {"a.example", 443, "POST", "/v1/messages"}));
  EXPECT_FALSE(allows(policy, {"b.example", 443, "POST", "/v1/messages"}));
  EXPECT_FALSE(allows(policy, {"x.a.example", 443, "POST", "/v1/messages"}));
  EXPECT_FALSE(allows(policy, {"a.example", 80, "POST", "/v1/messages"}));
  EXPECT_FALSE(allows(policy, {"a.example", 443, "GET", "/v1/messages"}));
  EXPECT_FALSE(allows(policy, {"a.example", 443, "post", "/v1/messages"}));
  EXPECT_FALSE(allows(policy, {"a.example", 443, "POST", "/v1/messages/"}));
  EXPECT_FALSE(allows(policy, {"a.example", 443, "POST", "/v1/Messages"}));
}

TEST(Decide, Bc125DenyWinsOverAllowWhateverTheOrder) {
  const Policy policy{"p", {rule("a.example")}, {{"a.example", 443, {}, {"/admin/**"}, "p:9"}}};
  EXPECT_TRUE(allows(policy, {"a.example", 443, "GET", "/x"}));
  const Decision denied = decide(policy, {"a.example", 443, "GET", "/admin/keys"});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.rule, "p:9");
  EXPECT_THAT(denied.reason, HasSubstr("denied by the rule at p:9"));
}

TEST(Decide, WhatIsNotCanonicalIsRefusedEvenIfARuleLooksAlike) {
  const Policy policy{"p", {rule("a.example"), rule("10.0.0.1")}, {}};
  EXPECT_FALSE(allows(policy, {"A.example", 443, "GET", "/"}));
  EXPECT_FALSE(allows(policy, {"a.example.", 443, "GET", "/"}));
  EXPECT_FALSE(allows(policy, {"", 443, "GET", "/"}));
  EXPECT_FALSE(allows(policy, {"::ffff:10.0.0.1", 443, "GET", "/"}));
  for (const char* path :
       {"",       "x",     "/a/../b", "/..",      "/./",    "/a\\b",  "/a b",
        "/a\n",   "//a",   "/a//b",   "/%61dmin", "/a%2Fb", "/a%2fb", "/%2e%2e/x",
        "/a%5cb", "/a%00", "/a%",     "/a%2",     "/a%zz",  "/%7Eme"}) {
    EXPECT_FALSE(allows(policy, {"a.example", 443, "GET", path})) << path;
  }
}

TEST(Decide, EscapesThatArePlainAreMatchedAsWritten) {
  const Policy policy{"p", {rule("a.example", {}, {"/a%20b", "/*/"})}, {}};
  EXPECT_TRUE(allows(policy, {"a.example", 443, "GET", "/a%20b"}));
  EXPECT_TRUE(allows(policy, {"a.example", 443, "GET", "/%C3%A9/"}));
  EXPECT_FALSE(allows(policy, {"a.example", 443, "GET", "/a%20c"}));
}

TEST(Decide, ReasonsEscapeWhatTheAgentWrote) {
  const Decision decision = decide({}, {"a.example", 443, "GET", "/\x1b[2J"});
  EXPECT_EQ(decision.reason.find('\x1b'), std::string::npos);
}

TEST(NamesHost, OnlyExactAllowRulesName) {
  const Policy policy{"p", {rule("10.0.0.1"), rule("*.corp.example")}, {rule("b.example")}};
  EXPECT_TRUE(namesHost(policy, "10.0.0.1", 443));
  EXPECT_FALSE(namesHost(policy, "10.0.0.1", 80));
  EXPECT_FALSE(namesHost(policy, "a.corp.example", 443));
  EXPECT_FALSE(namesHost(policy, "b.example", 443));
}

TEST(PathGlob, OneStarStaysInASegmentAndTwoCross) {
  EXPECT_TRUE(matchesPath("/v1/*", "/v1/messages"));
  EXPECT_TRUE(matchesPath("/v1/*", "/v1/"));
  EXPECT_FALSE(matchesPath("/v1/*", "/v1/messages/x"));
  EXPECT_TRUE(matchesPath("/v1/**", "/v1/messages/x"));
  EXPECT_FALSE(matchesPath("/v1/**", "/v1"));
  EXPECT_TRUE(matchesPath("/*/x/**/z", "/a/x/b/c/z"));
  EXPECT_FALSE(matchesPath("/*/x", "/a/b/x"));
  EXPECT_TRUE(matchesPath("/a*c", "/abbbc"));
  EXPECT_FALSE(matchesPath("/a", "/ab"));
  EXPECT_FALSE(matchesPath("/ab", "/a"));
}

TEST(PathGlob, AHostilePatternCostsNoMoreThanTheProductOfLengths) {
  std::string pattern = "/";
  for (int i = 0; i < 60; ++i) pattern += "a*";
  EXPECT_FALSE(matchesPath(pattern + "b", "/" + std::string(4000, 'a')));
}

TEST(PolicyJson, ComesBackAsItWas) {
  const Policy policy{"p",
                      {rule("a.example", {"POST", "GET"}, {"/v1/*"}),
                       {"b.example", 80, {}, {}, "p:2", Flow::Plain},
                       {"c.example", 443, {}, {}, "p:3", Flow::Tunnel},
                       {"d.example", 22, {}, {}, "p:4", Flow::Tcp}},
                      {{"*.b.example", 8443, {}, {}, "p:7"}},
                      true};
  const Policy back = policyFromJson(toJson(policy));
  EXPECT_EQ(toJson(back), toJson(policy));
  EXPECT_EQ(back.deny.at(0).port, 8443);
  EXPECT_TRUE(back.allow_degraded);
  EXPECT_EQ(back.allow.at(1).flow, Flow::Plain);
  EXPECT_EQ(back.allow.at(2).flow, Flow::Tunnel);
  EXPECT_EQ(back.allow.at(3).flow, Flow::Tcp);
  EXPECT_EQ(back.allow.at(0).methods.at(1), "GET");
}

TEST(PolicyJson, AFlowThatNobodyKnowsIsRefused) {
  auto object = toJson(Policy{"p", {rule("a.example")}, {}});
  object["allow"].as_array()[0].as_object()["flow"] = "open";
  EXPECT_THROW(policyFromJson(object), boost::system::system_error);
}

TEST(MatchesPath, EscapesAreTheSameInUpperAndLowerCase) {
  EXPECT_TRUE(matchesPath("/caf%C3%A9", "/caf%c3%a9"));
  EXPECT_TRUE(matchesPath("/caf%c3%a9", "/caf%C3%a9"));
  EXPECT_FALSE(matchesPath("/caf%C3%A9", "/caf%C3%A8"));
  EXPECT_FALSE(matchesPath("/abc", "/aBc"));
}

}  // namespace
}  // namespace warder::policies
