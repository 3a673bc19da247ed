// What may flow to a destination, before a byte of it was seen.
#include <gmock/gmock.h>

#include "policies/policy.h"

namespace warder::policies {
namespace {

using ::testing::HasSubstr;

Rule rule(std::string host, Flow flow, std::string where = "p:1", std::uint16_t port = 443) {
  return {std::move(host), port, {}, {}, std::move(where), flow};
}

Rule limited(std::string host, std::string where = "p:9") {
  return {std::move(host), 443, {}, {"/admin/**"}, std::move(where)};
}

/// "intercept+plain", "tunnel", "tcp", "none".
std::string flows(const Policy& policy, std::string_view host, std::uint16_t port = 443) {
  const Access access = accessTo(policy, host, port);
  std::string text;
  if (access.http_over_tls) text += "+intercept";
  if (access.tunnel) text += "+tunnel";
  if (access.plain_http) text += "+plain";
  if (access.tcp) text += "+tcp";
  EXPECT_EQ(access.any(), !text.empty());
  EXPECT_NE(access.reason, "");
  return text.empty() ? "none" : text.substr(1);
}

TEST(AccessTo, AnEmptyPolicyLetsNothingFlow) {
  const Access access = accessTo({}, "a.example", 443);
  EXPECT_FALSE(access.any());
  EXPECT_EQ(access.rule, "");
  EXPECT_EQ(access.reason, "\"a.example:443\" is refused: the policy allows nothing");
}

TEST(AccessTo, EachFlowIsOpenedByItsOwnRule) {
  const Policy policy{"p",
                      {rule("a.example", Flow::Intercept), rule("b.example", Flow::Plain),
                       rule("c.example", Flow::Tunnel), rule("d.example", Flow::Tcp)},
                      {}};
  EXPECT_EQ(flows(policy, "a.example"), "intercept");
  EXPECT_EQ(flows(policy, "b.example"), "plain");
  EXPECT_EQ(flows(policy, "c.example"), "tunnel");
  EXPECT_EQ(flows(policy, "d.example"), "tcp");
  EXPECT_EQ(flows(policy, "a.example", 80), "none");
  EXPECT_EQ(flows(policy, "e.example"), "none");
}

TEST(AccessTo, PlainHttpMayStandBesideTlsOnOnePort) {
  const Policy policy{
      "p", {rule("a.example", Flow::Plain), rule("a.example", Flow::Intercept)}, {}};
  EXPECT_EQ(flows(policy, "a.example"), "intercept+plain");
  EXPECT_THAT(accessTo(policy, "a.example", 443).reason,
              HasSubstr("HTTP in TLS and plain HTTP are allowed by the rule at p:1"));
}

TEST(AccessTo, TheMostSpecificHostDecidesBetweenRulesThatContradict) {
  const Policy policy{
      "p",
      {rule("*.example.org", Flow::Intercept, "p:1"),
       rule("pinned.example.org", Flow::Tunnel, "p:2"), rule("*.db.example.org", Flow::Tcp, "p:3"),
       rule("web.db.example.org", Flow::Intercept, "p:4")},
      {}};
  EXPECT_EQ(flows(policy, "a.example.org"), "intercept");
  EXPECT_EQ(flows(policy, "pinned.example.org"), "tunnel");
  EXPECT_EQ(accessTo(policy, "pinned.example.org", 443).rule, "p:2");
  EXPECT_EQ(flows(policy, "one.db.example.org"), "tcp");
  EXPECT_EQ(flows(policy, "web.db.example.org"), "intercept");
}

TEST(AccessTo, ADenyRuleForTheWholeHostTakesEverythingAway) {
  for (const Flow flow : {Flow::Intercept, Flow::Plain, Flow::Tunnel, Flow::Tcp}) {
    const Policy policy{
        "p", {rule("a.example", flow)}, {rule("a.example", Flow::Intercept, "p:9")}};
    const Access access = accessTo(policy, "a.example", 443);
    EXPECT_FALSE(access.any()) << nameOf(flow);
    EXPECT_EQ(access.rule, "p:9");
    EXPECT_EQ(access.reason, "\"a.example:443\" is denied by the rule at p:9");
  }
}

TEST(AccessTo, ADenyRuleForSomeRequestsClosesWhatCannotBeRead) {
  const Policy requests{"p", {rule("a.example", Flow::Intercept)}, {limited("a.example")}};
  EXPECT_EQ(flows(requests, "a.example"), "intercept");
  for (const Flow flow : {Flow::Tunnel, Flow::Tcp}) {
    const Policy policy{"p", {rule("a.example", flow)}, {limited("*.example")}};
    EXPECT_EQ(flows(policy, "a.example"), "none") << nameOf(flow);
    EXPECT_THAT(accessTo(policy, "a.example", 443).reason,
                HasSubstr("the rule at p:9 denies requests, which cannot be told apart in what the "
                          "rule at p:1 lets through unread"));
  }
  const Policy both{"p",
                    {rule("a.example", Flow::Tunnel), rule("a.example", Flow::Plain)},
                    {limited("a.example")}};
  EXPECT_EQ(flows(both, "a.example"), "plain");
}

TEST(AccessTo, WhatIsNotCanonicalIsRefused) {
  const Policy policy{"p", {rule("a.example", Flow::Tcp)}, {}};
  for (const char* host : {"A.example", "a.example.", ""}) {
    const Access access = accessTo(policy, host, 443);
    EXPECT_FALSE(access.any()) << host;
    EXPECT_THAT(access.reason, HasSubstr("not in its canonical form"));
  }
}

TEST(Decide, OnlyRulesAboutHttpAllowARequest) {
  const auto allowed = [](Flow flow, Carrier carrier) {
    const Policy policy{"p", {rule("a.example", flow)}, {}};
    return decide(policy, {"a.example", 443, "GET", "/", carrier}).allowed;
  };
  EXPECT_TRUE(allowed(Flow::Intercept, Carrier::Tls));
  EXPECT_FALSE(allowed(Flow::Intercept, Carrier::Plain));
  EXPECT_FALSE(allowed(Flow::Plain, Carrier::Tls));
  EXPECT_TRUE(allowed(Flow::Plain, Carrier::Plain));
  EXPECT_TRUE(allowed(Flow::Intercept, Carrier::BaseUrl));
  EXPECT_TRUE(allowed(Flow::Plain, Carrier::BaseUrl));
  for (const Carrier carrier : {Carrier::BaseUrl, Carrier::Tls, Carrier::Plain}) {
    EXPECT_FALSE(allowed(Flow::Tunnel, carrier));
    EXPECT_FALSE(allowed(Flow::Tcp, carrier));
  }
}

TEST(Decide, ARuleForTlsDoesNotOpenItsPathsToPlainHttp) {
  const Policy policy{"p",
                      {{"a.example", 8080, {}, {"/public"}, "p:1", Flow::Plain},
                       {"a.example", 8080, {}, {"/private"}, "p:2", Flow::Intercept}},
                      {}};
  EXPECT_TRUE(decide(policy, {"a.example", 8080, "GET", "/private", Carrier::Tls}).allowed);
  EXPECT_FALSE(decide(policy, {"a.example", 8080, "GET", "/private", Carrier::Plain}).allowed);
  EXPECT_TRUE(decide(policy, {"a.example", 8080, "GET", "/public", Carrier::Plain}).allowed);
}

TEST(Decide, SaysWhenARuleIsForAnotherWay) {
  const Policy policy{"p", {rule("a.example", Flow::Tunnel)}, {}};
  EXPECT_THAT(decide(policy, {"a.example", 443, "GET", "/"}).reason,
              HasSubstr("the rules for this host and port allow no HTTP that came this way"));
}

TEST(MayResolve, NamesToWhichSomethingFlowsOnAnyPort) {
  const Policy policy{
      "p",
      {rule("a.example", Flow::Tcp, "p:1", 22), rule("*.b.example", Flow::Tunnel),
       rule("gone.example", Flow::Plain), rule("10.0.0.1", Flow::Intercept),
       rule("half.example", Flow::Intercept, "p:5", 8443), rule("half.example", Flow::Intercept)},
      {rule("gone.example", Flow::Intercept), rule("x.b.example", Flow::Intercept),
       limited("half.example"), rule("half.example", Flow::Intercept, "p:8", 8443)}};
  EXPECT_TRUE(mayResolve(policy, "a.example"));
  EXPECT_TRUE(mayResolve(policy, "y.b.example"));
  EXPECT_TRUE(mayResolve(policy, "half.example"));
  EXPECT_FALSE(mayResolve(policy, "x.b.example"));
  EXPECT_FALSE(mayResolve(policy, "b.example"));
  EXPECT_FALSE(mayResolve(policy, "gone.example"));
  EXPECT_FALSE(mayResolve(policy, "other.example"));
  EXPECT_FALSE(mayResolve(policy, "A.example"));
  EXPECT_FALSE(mayResolve(policy, "10.0.0.1"));
  EXPECT_FALSE(mayResolve(policy, ""));
}

}  // namespace
}  // namespace warder::policies
