// `warder check --explain`: the deciding rule for a host or a request (BC-068).
#include <gmock/gmock.h>

#include "policies/explain.h"
#include "policies/policy_reader.h"

namespace warder::policies {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> asked(const std::string& question) {
  const Policy policy = readPolicyText(
                            "version: 1\n"
                            "allow:\n"
                            "  - {host: a.example, methods: [GET], paths: [/v1/**]}\n"
                            "  - '*.b.example'\n"
                            "  - {host: pinned.b.example, tls: tunnel}\n"
                            "  - 10.0.0.1:80\n"
                            "deny:\n"
                            "  - {host: a.example, paths: [/v1/admin/**]}\n"
                            "  - gone.b.example\n",
                            "p", "p")
                            .policy;
  const auto lines = explainQuestion(policy, question);
  return lines ? *lines : std::vector<std::string>{"error: " + lines.error().sentence()};
}

TEST(ExplainQuestion, TellsWhatFlowsToAHostAndByWhichRule) {
  EXPECT_THAT(
      asked("x.b.example"),
      ElementsAre("connection  \"x.b.example:443\": HTTP in TLS is allowed by the rule at p:4",
                  "rule        allow  any method *.b.example:443 any path  (p:4)",
                  "name        is answered by the agent's name server",
                  "address     must be public, since no rule names the host exactly"));
  EXPECT_THAT(asked("PINNED.b.example.:443").front(),
              HasSubstr("a TLS tunnel is allowed by the rule at p:5"));
  EXPECT_THAT(asked("gone.b.example").front(), HasSubstr("is denied by the rule at p:9"));
  EXPECT_THAT(asked("y.x.b.example"),
              ElementsAre(HasSubstr("no rule allows this host and port"),
                          "name        is not answered: nothing flows to it on any port"));
}

TEST(ExplainQuestion, TellsWhatIsDecidedAboutARequest) {
  EXPECT_THAT(asked("GET https://a.example/v1/x?secret=1").at(1),
              "request     \"GET a.example:443/v1/x\" is allowed by the rule at p:3");
  EXPECT_THAT(asked("GET https://a.example/v1/admin/x").at(1),
              HasSubstr("is denied by the rule at p:8"));
  EXPECT_THAT(asked("POST https://a.example/v1/x").at(1),
              HasSubstr("no rule for this host and port allows this method and path"));
  EXPECT_THAT(asked("GET http://a.example:443/v1/x").at(1),
              HasSubstr("no HTTP that came this way"));
  EXPECT_THAT(asked("http://10.0.0.1").at(1), HasSubstr("is allowed by the rule at p:6"));
}

TEST(ExplainQuestion, WhatIsNoQuestionSaysHowToAsk) {
  for (const auto& [question, part] : {std::pair{"a.example:0", "port \"0\""},
                                       {"a.example:", "port \"\""},
                                       {"*.b.example", "is a pattern"},
                                       {"2852039166", "the address 169.254.169.254"},
                                       {"GET ftp://a.example/", "begins with neither"},
                                       {"", "is no host name"}}) {
    EXPECT_THAT(asked(question), ElementsAre(testing::StartsWith("error: "))) << question;
    EXPECT_THAT(asked(question).front(), HasSubstr(part));
    EXPECT_THAT(asked(question).front(), HasSubstr("ask about HOST, HOST:PORT"));
  }
}

}  // namespace
}  // namespace warder::policies
