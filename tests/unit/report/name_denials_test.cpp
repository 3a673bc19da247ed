#include <gtest/gtest.h>

#include "supervisor/report/fold.h"

namespace warder::report {
namespace {

using base::Event;

Event denied(const char* type = "A") {
  return {"dns.denied", {{"name", "x.example"}, {"type", type}, {"sentence", "not allowed"}}};
}
Event answered(int status) {
  return {"llm.call", {{"method", "POST"}, {"model", "m"}, {"status", status}, {"priced", true}}};
}

/// The outcome of an agent that failed after these events.
json::object outcomeAfter(const std::vector<Event>& events) {
  Fold fold;
  fold.add({"run.started", {{"run_id", "r-1"}}});
  for (const auto& event : events) fold.add(event);
  fold.add({"agent.exited", {{"code", 1}}});
  return fold.report().at("outcome").as_object();
}

TEST(NameDenials, AFailureWithAnUnknownNameLastIsThePolicys) {
  const auto outcome = outcomeAfter({answered(200), denied()});
  EXPECT_EQ(outcome.at("reason"), "egress_denied_fatal");
  EXPECT_NE(json::serialize(outcome).find("x.example: not allowed"), std::string::npos);
  EXPECT_EQ(outcomeAfter({denied("AAAA")}).at("reason"), "egress_denied_fatal");
}

TEST(NameDenials, QuestionsThatNoConnectionNeedsSayNothing) {
  for (const char* type : {"HTTPS", "SRV", "TXT", "PTR", ""})
    EXPECT_EQ(outcomeAfter({denied(type)}).at("reason"), "agent_error") << type;
}

TEST(NameDenials, AnAgentThatWentOnDidNotFailBecauseOfThem) {
  EXPECT_EQ(outcomeAfter({denied(), answered(200)}).at("reason"), "agent_error");
}

TEST(NameDenials, AreNotBlamedForWhatTheProviderDidBefore) {
  EXPECT_EQ(outcomeAfter({answered(529), denied()}).at("reason"), "llm_overloaded");
  EXPECT_EQ(outcomeAfter({{"broker.upstream_failed", {{"why", "refused"}}}, denied()}).at("reason"),
            "llm_unreachable");
  EXPECT_EQ(outcomeAfter({answered(399), denied()}).at("reason"), "egress_denied_fatal");
  EXPECT_EQ(outcomeAfter({answered(400), denied()}).at("reason"), "llm_refused_request");
}

TEST(NameDenials, AreCountedWithThoseOfRequestsAndWithThoseThatWereNotTold) {
  Fold fold;
  fold.add(denied());
  fold.add(denied("AAAA"));
  fold.add({"broker.denied",
            {{"host", "x.example"}, {"path", "/p"}, {"reason", "no rule"}, {"suppressed", 7}}});
  const auto report = fold.report();
  const auto& egress = report.at("egress").as_object();
  EXPECT_EQ(egress.at("denied"), 10);
  const auto& denials = egress.at("denials").as_array();
  ASSERT_EQ(denials.size(), 2U);
  for (const auto& denial : denials) {
    const bool name = denial.at("path") == "";
    EXPECT_EQ(denial.at("host"), "x.example");
    EXPECT_EQ(denial.at("reason"), name ? "not allowed" : "no rule");
    EXPECT_EQ(denial.at("count"), name ? 2 : 1);
  }
}

TEST(NameDenials, WrongFieldsAreSurvived) {
  for (const json::value& wrong : {json::value(nullptr), json::value(-5), json::value(1e300)}) {
    Fold fold;
    fold.add({"dns.denied",
              {{"name", wrong}, {"type", wrong}, {"sentence", wrong}, {"suppressed", wrong}}});
    EXPECT_FALSE(fold.report().empty());
  }
}

}  // namespace
}  // namespace warder::report
