// What a run says that was refused before it started: outcome and report.
#include "supervisor/report/refused_record.h"

#include <gtest/gtest.h>

#include "supervisor/report/fold.h"
#include "supervisor/report/report_json.h"

namespace warder::report {
namespace {

Outcome refusedFor(const Refusal& refusal, json::object& report) {
  Fold fold;
  fold.add({"run.started", {{"run_id", "r"}, {"attempt", 1}}});
  fold.add({"setup.failed", describeRefusal(refusal)});
  report = fold.report();
  return fold.outcome();
}

TEST(Refusal, OneFaultIsTheOutcomesSentence) {
  json::object report;
  const auto outcome = refusedFor({"job", {{"job.yaml:3:1", "unknown key"}}}, report);
  EXPECT_EQ(outcome.reason, "bad_spec");
  EXPECT_EQ(exitCode(outcome, true), 14);
  EXPECT_EQ(outcome.sentence, "the run was not started: job.yaml:3:1: unknown key");
  EXPECT_EQ(report.at("faults"),
            json::value({{{"where", "job.yaml:3:1"}, {"sentence", "unknown key"}}}));
}

TEST(Refusal, TheStepIsTheReason) {
  json::object report;
  EXPECT_EQ(refusedFor({"box", {{"", "no"}}}, report).reason, "box_failed");
  EXPECT_EQ(refusedFor({"broker", {{"", "no"}}}, report).reason, "broker_failed");
  EXPECT_EQ(refusedFor({"network", {{"", "no"}}}, report).reason, "setup_failed");
  EXPECT_EQ(refusedFor({"spool", {{"", "no"}}}, report).reason, "setup_failed");
}

TEST(Refusal, ManyFaultsAreListedUpToTheLimitAndCounted) {
  for (const std::size_t count : {kMostRefusalFaults, kMostRefusalFaults + 1}) {
    json::object report;
    const Refusal refusal{"job", base::Faults(count, {"job.yaml:1:1", std::string(5000, 'x')})};
    const auto outcome = refusedFor(refusal, report);
    EXPECT_TRUE(outcome.sentence.ends_with("; and " + std::to_string(count - 1) + " more"));
    EXPECT_EQ(report.at("faults").as_array().size(), kMostRefusalFaults);
    EXPECT_EQ(report.at("faults_total"), json::value(count));
    EXPECT_LE(json::serialize(report).size(), kMaxReport);
  }
}

TEST(Refusal, OtherReportsHaveNoFaults) {
  Fold fold;
  fold.add({"setup.failed", {{"step", "box"}, {"sentence", "no mounts"}}});
  EXPECT_FALSE(fold.report().contains("faults"));
}

}  // namespace
}  // namespace warder::report
