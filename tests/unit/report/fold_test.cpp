// The verdict, one table row for each way to end, and the report.
#include "supervisor/report/fold.h"

#include <gtest/gtest.h>

#include "supervisor/report/report_json.h"

namespace warder::report {
namespace {

using base::Event;
using Events = std::vector<Event>;

Event event(const std::string& type, json::object data = {}) {
  return {type, std::move(data)};
}

Event started() {
  return event("run.started", {{"run_id", "r"},
                               {"attempt", 1},
                               {"preset", "claude-code"},
                               {"agent", {{"user", "1000:1000"}, {"argv", {"claude", "-p"}}}}});
}
Event exited(int code) {
  return event("agent.exited", {{"code", code}, {"wall_ms", 10}});
}
Event killedBy(const char* signal) {
  return event("agent.exited", {{"signal", signal}});
}
Event said(const char* stream, const std::string& line, bool complete = true) {
  return event("output.closed", {{"stream", stream},
                                 {"bytes", line.size()},
                                 {"sha256", "sha256:00"},
                                 {"last_line", line},
                                 {"last_line_complete", complete}});
}
Event answered(int status) {
  return event("llm.call",
               {{"method", "POST"}, {"model", "m"}, {"status", status}, {"priced", true}});
}
Event denied() {
  return event("broker.denied",
               {{"method", "POST"}, {"host", "x.example"}, {"path", "/p"}, {"reason", "no rule"}});
}
Event unreachable() {
  return event("broker.upstream_failed", {{"why", "refused"}, {"sentence", "connection refused"}});
}
Event stop(const char* by) {
  return event("stop.requested", {{"by", by}, {"signal", "SIGTERM"}});
}
Event oom() {
  return event("memory.oom", {{"kills", 1}, {"source", "cgroup2"}});
}
const std::string kGood = R"({"type":"result","subtype":"success","is_error":false,"result":"ok"})";
const std::string kBad = R"({"type":"result","subtype":"success","is_error":true,"result":"no"})";
const std::string kTurns = R"({"type":"result","subtype":"error_max_turns","is_error":true})";
const std::string kAuth =
    R"({"type":"result","subtype":"success","is_error":true,"api_error_status":401})";

struct Row {
  const char* name;
  Events events;  // after run.started
  const char* reason;
  int exit_code;
};

class Verdict : public ::testing::TestWithParam<Row> {};

TEST_P(Verdict, IsNamedWithItsExitCode) {
  Fold fold;
  fold.add(started());
  for (const auto& item : GetParam().events) fold.add(item);
  const Outcome outcome = fold.outcome();
  EXPECT_EQ(outcome.reason, GetParam().reason) << outcome.sentence;
  EXPECT_EQ(exitCode(outcome, true), GetParam().exit_code);
  EXPECT_EQ(exitCode(outcome, false), GetParam().exit_code + 64);
  EXPECT_FALSE(outcome.sentence.empty());
  EXPECT_FALSE(outcome.evidence.empty());
  EXPECT_EQ(fold.outcomeJson().at("reason"), GetParam().reason);
}

const Row kRows[] = {
    {"Completed", {exited(0), said("stdout", kGood)}, "completed", 0},
    {"PlainProgramThatSaysNothing", {exited(0), said("stdout", "done")}, "completed", 0},
    {"NothingChanged",
     {exited(0), said("stdout", kGood), event("patch.stored", {{"bytes", 0}})},
     "completed_no_changes",
     0},
    {"OkThoughAToolWasKilledForMemory", {oom(), exited(0), said("stdout", kGood)}, "completed", 0},
    {"OkThoughAnEarlierCallFailed",
     {answered(529), answered(200), exited(0), said("stdout", kGood)},
     "completed",
     0},
    {"NonzeroExit", {exited(3), said("stderr", "boom")}, "agent_error", 1},
    {"SaysThatItFailedWithExitCodeZero",
     {exited(0), said("stdout", kBad)},
     "agent_reported_failure",
     1},
    {"Crashed", {killedBy("SIGSEGV")}, "agent_crashed", 1},
    {"NoResultLine",
     {exited(0), said("stdout", R"({"type":"assistant","session_id":"s"})")},
     "no_result",
     1},
    {"TruncatedResultLine",
     {exited(0), said("stdout", R"({"type":"result","is_error":fal)", false)},
     "no_result",
     1},
    {"WallTime",
     {event("limit.reached", {{"limit", "wall"}, {"value_ms", 5}}), stop("limit"), exited(143)},
     "wall_time",
     10},
    {"OwnTurnLimit", {answered(200), exited(1), said("stdout", kTurns)}, "turns", 10},
    {"OomKilledAgent", {oom(), killedBy("SIGKILL")}, "oom_killed_agent", 11},
    {"OomKilledAgentBehindAShell", {oom(), exited(137)}, "oom_killed_agent", 11},
    {"OomKilledToolAndTheAgentFailed",
     {oom(), exited(1), said("stdout", "")},
     "oom_killed_tool",
     11},
    {"Unauthorized", {answered(401), exited(1), said("stdout", kBad)}, "llm_auth", 12},
    {"ForbiddenByTheProvider", {answered(403), exited(1), said("stdout", kBad)}, "llm_auth", 12},
    {"PaymentRequired", {answered(402), exited(1), said("stdout", kBad)}, "llm_quota", 12},
    {"RateLimited", {answered(429), exited(1), said("stdout", kBad)}, "llm_rate_limited", 12},
    {"Overloaded529", {answered(529), exited(1), said("stdout", kBad)}, "llm_overloaded", 12},
    {"Overloaded503", {answered(503), exited(1), said("stdout", kBad)}, "llm_overloaded", 12},
    {"BadRequest", {answered(400), exited(1), said("stdout", kBad)}, "llm_refused_request", 12},
    {"Unreachable", {unreachable(), exited(1), said("stdout", kBad)}, "llm_unreachable", 12},
    {"CutInTheMiddleOfAnAnswer",
     {unreachable(), event("llm.call", {{"method", "POST"}, {"status", 200}, {"ended", "cut"}}),
      exited(1)},
     "llm_unreachable",
     12},
    {"ErrorAmidAStream",
     {event("llm.call", {{"method", "POST"}, {"status", 200}, {"error", "overloaded_error"}}),
      exited(1)},
     "llm_overloaded",
     12},
    {"CallThatTheAgentItselfLeftSaysNothingOfTheProvider",
     {answered(200),
      event("llm.call", {{"method", "POST"}, {"status", 0}, {"ended", "client_gone"}}), exited(1)},
     "agent_error",
     1},
    {"DeniedProbeSaysNothing",
     {event("broker.denied", {{"method", "HEAD"}, {"path", "/api/hello"}}), exited(1)},
     "agent_error",
     1},
    {"ProviderFailureWithExitCodeZeroAndNoWords",
     {answered(500), exited(0), said("stdout", "hm")},
     "llm_overloaded",
     12},
    {"ApiErrorOfWhichOnlyTheAgentKnows", {exited(1), said("stdout", kAuth)}, "llm_auth", 12},
    {"DeniedByPolicy",
     {answered(200), denied(), exited(1), said("stdout", kBad)},
     "egress_denied_fatal",
     13},
    {"DeniedButItWentOn",
     {denied(), answered(200), exited(0), said("stdout", kGood)},
     "completed",
     0},
    {"ForbiddenSystemCall", {killedBy("SIGSYS")}, "sandbox_violation", 13},
    {"SetupOfTheBox",
     {event("setup.failed", {{"step", "box"}, {"sentence", "no mounts"}})},
     "box_failed",
     14},
    {"SetupOfTheJob",
     {event("setup.failed", {{"step", "job"}, {"sentence", "x"}})},
     "bad_spec",
     14},
    {"AgentNotFound",
     {event("setup.failed", {{"step", "agent"}, {"sentence", "no such file"}, {"errno", 2}})},
     "agent_not_found",
     14},
    {"StoppedBySignal", {stop("signal"), exited(143)}, "stopped_by_signal", 15},
    {"StoppedAndTheAgentSaidItWasDone",
     {stop("signal"), exited(0), said("stdout", kGood)},
     "stopped_by_signal",
     15},
    {"StoppedBeforeTheAgentRan", {stop("signal")}, "stopped_by_signal", 15},
    {"KilledFromOutside", {killedBy("SIGKILL")}, "killed_from_outside", 15},
    {"ExitCode137WithoutACountIsNoOom", {exited(137)}, "killed_from_outside", 15},
    {"BrokerLost",
     {event("stage.lost", {{"stage", "broker"}, {"restarted", false}}), stop("broker_lost"),
      exited(143)},
     "broker_lost",
     16},
    {"SpoolTrouble",
     {event("spool.trouble", {{"sentence", "full"}}), exited(143)},
     "spool_error",
     16},
    {"SupervisorLost",
     {exited(0), event("stage.lost", {{"stage", "init"}})},
     "supervisor_lost",
     16},
    {"EndedWithoutACause", {}, "supervisor_error", 16},
};

INSTANTIATE_TEST_SUITE_P(Each, Verdict, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Fold, FirstCauseWins) {
  Fold fold;
  fold.add(started());
  fold.add(stop("signal"));
  fold.add(event("limit.reached", {{"limit", "wall"}}));
  fold.add(exited(143));
  fold.add(event("stage.lost", {{"stage", "broker"}, {"restarted", false}}));
  EXPECT_EQ(fold.outcome().reason, "stopped_by_signal");
}

TEST(Fold, WhatHappensAfterTheAgentsEndIsNotItsCause) {
  Fold fold;
  fold.add(started());
  fold.add(exited(0));
  fold.add(stop("signal"));
  EXPECT_EQ(fold.outcome().cls, Class::Ok);
}

TEST(Fold, JournalWithoutAnEndMeansThatTheSupervisorWasLost) {  // BC-101
  Fold fold;
  fold.add(started());
  fold.endOfJournal();
  EXPECT_EQ(fold.outcome().reason, "supervisor_lost");
  EXPECT_NE(fold.outcome().sentence.find("started, and never ended"), std::string::npos);
  EXPECT_EQ(fold.outcome().confidence, Confidence::Inferred);
}

TEST(Fold, ReportCarriesTheAgentsOwnLastWordsOfAFailure) {  // BC-001
  Fold fold;
  fold.add(started());
  fold.add(exited(1));
  fold.add(said("stderr", "cannot be used with root/sudo privileges for security reasons"));
  const auto report = fold.report();
  EXPECT_EQ(report.at("agent").at("last_stderr_line"),
            "cannot be used with root/sudo privileges for security reasons");
  EXPECT_EQ(report.at("agent").at("code"), 1);
}

TEST(Fold, ReportTellsOfMemoryKillsThoughTheRunSucceeded) {
  Fold fold;
  fold.add(started());
  fold.add(event("memory.warning", {{"mark_percent", 90}}));
  fold.add(event("memory.oom", {{"kills", 3}}));
  fold.add(
      event("memory.summary", {{"limit_bytes", 100}, {"peak_bytes", 99}, {"source", "cgroup2"}}));
  fold.add(exited(0));
  const auto report = fold.report();
  EXPECT_EQ(report.at("outcome").at("class"), "ok");
  EXPECT_EQ(report.at("memory").at("oom_kills"), 3);
  EXPECT_EQ(report.at("memory").at("peak_bytes"), 99);
  EXPECT_EQ(report.at("memory").at("highest_mark_percent"), 90);
  EXPECT_NE(fold.outcome().sentence.find("3 processes"), std::string::npos);
}

TEST(Fold, UsageIsSummedByModelAndCostsDoNotDependOnTheirOrder) {
  const auto call = [](const char* model, double cost, int status) {
    return event("llm.call", {{"model", model},
                              {"status", status},
                              {"input_tokens", 10},
                              {"output_tokens", 5},
                              {"cost_usd", cost},
                              {"priced", true}});
  };
  Fold one, other;
  const Events calls = {call("a", 0.1, 200), call("a", 0.2, 200), call("b", 0.3, 500)};
  for (const auto& item : calls) one.add(item);
  for (auto item = calls.rbegin(); item != calls.rend(); ++item) other.add(*item);
  EXPECT_EQ(one.report().at("usage"), other.report().at("usage"));
  const json::object usage = one.report().at("usage").as_object();
  EXPECT_EQ(usage.at("by_model").as_array().size(), 2u);
  EXPECT_EQ(usage.at("by_model").at(0).at("requests"), 2);
  EXPECT_EQ(usage.at("by_model").at(0).at("input_tokens"), 20);
  EXPECT_EQ(usage.at("by_model").at(1).at("errors"), 1);
  EXPECT_DOUBLE_EQ(usage.at("total_cost_usd").to_number<double>(), 0.6);
  EXPECT_EQ(usage.at("priced"), true);
}

TEST(Fold, ClaimOfTheAgentStandsBesideWhatTheBrokerCounted) {
  Fold fold;
  fold.add(exited(0));
  fold.add(said("stdout", R"({"type":"result","is_error":false,"total_cost_usd":9.5,"num_turns":4,)"
                          R"("session_id":"s","usage":{"input_tokens":1}})"));
  const json::object claim = fold.report().at("agent_claim").as_object();
  EXPECT_EQ(claim.at("num_turns"), 4);
  EXPECT_EQ(claim.at("session_id"), "s");
  EXPECT_DOUBLE_EQ(claim.at("total_cost_usd").to_number<double>(), 9.5);
}

TEST(Fold, EventsAfterTheEndAndUnknownOnesChangeNothing) {
  Fold fold;
  fold.add(started());
  fold.add(exited(0));
  fold.add(event("run.finished"));
  const auto before = json::serialize(fold.report());
  fold.add(denied());
  fold.add(event("delivery.down", {{"sink", "x"}}));
  fold.add(event("never.heard.of"));
  EXPECT_EQ(json::serialize(fold.report()), before);
}

TEST(Fold, TheAgentsProgramIsToldAtStartAndEndAndItsChangeIsAWarning) {
  const auto program = [](const char* at, const char* version, json::object more = {}) {
    json::object data = {{"at", at}, {"path", "/a"}, {"version", version}};
    for (const auto& item : more) data[item.key()] = item.value();
    return event("agent.program", data);
  };
  Fold fold;
  fold.add(started());
  fold.add(program("start", "1"));
  fold.add(program("end", "2", {{"changed", true}, {"sentence", "it changed"}}));
  const auto report = fold.report();
  const auto& told = report.at("agent").at("program");
  EXPECT_EQ(told.at("start"), json::value({{"path", "/a"}, {"version", "1"}}));
  EXPECT_EQ(told.at("end"), json::value({{"path", "/a"}, {"version", "2"}, {"changed", true}}));
  EXPECT_EQ(report.at("warnings").at(0).as_string(), "it changed");
  Fold calm;
  calm.add(program("start", "1"));
  calm.add(program("end", "1", {{"changed", false}}));
  EXPECT_TRUE(calm.report().at("warnings").as_array().empty());
}

TEST(Fold, AnAgentThatMayWaitForInputIsAWarning) {
  Fold fold;
  fold.add(started());
  fold.add(event("agent.waiting_for_input", {{"sentence", "it may wait"}, {"last_line", "y?"}}));
  EXPECT_EQ(fold.report().at("warnings").at(0).as_string(), "it may wait");
}

TEST(Fold, WrongFieldsAreSurvived) {
  for (const char* type : {"run.started",
                           "box.ready",
                           "preflight.warning",
                           "setup.failed",
                           "limit.reached",
                           "stop.requested",
                           "stage.lost",
                           "agent.exited",
                           "agent.leftovers",
                           "memory.warning",
                           "memory.oom",
                           "memory.summary",
                           "llm.call",
                           "broker.denied",
                           "broker.upstream_failed",
                           "output.closed",
                           "artifact.stored",
                           "artifact.skipped",
                           "patch.stored",
                           "patch.skipped",
                           "agent.program",
                           "agent.waiting_for_input"})
    for (const json::value& wrong :
         {json::value(nullptr), json::value("x"), json::value(-5), json::value(1e300)}) {
      Fold fold;
      json::object data;
      for (const char* key : {"run_id", "agent", "code", "signal", "kills", "status", "model",
                              "cost_usd", "stream", "last_line", "path", "bytes", "by", "stage",
                              "mark_percent", "errno", "value_ms", "sentence", "mechanism"})
        data[key] = wrong;
      fold.add(event(type, data));
      EXPECT_FALSE(fold.report().empty());
    }
}

TEST(Fold, ReportIsBoundedAndKeepsTheTrueCounts) {
  Fold fold;
  fold.add(started());
  for (int i = 0; i < 5000; ++i) {
    fold.add(event("artifact.stored",
                   {{"path", std::string(1000, 'p') + std::to_string(i)}, {"bytes", 2}}));
    fold.add(event("artifact.skipped",
                   {{"path", std::to_string(i)}, {"reason", std::string(1000, 'r')}}));
    fold.add(event("broker.denied", {{"host", std::string(500, 'h') + std::to_string(i)}}));
    fold.add(event("llm.call", {{"model", "m" + std::to_string(i)}, {"status", 200}}));
  }
  fold.add(said("stdout", kBad));
  fold.add(said("stderr", std::string(60'000, 'e')));
  fold.add(exited(1));
  const auto report = fold.report();
  EXPECT_LE(json::serialize(report).size(), kMaxReport);
  EXPECT_EQ(report.at("artifacts_total").at("stored"), 5000);
  EXPECT_EQ(report.at("artifacts_total").at("bytes"), 10000);
  EXPECT_EQ(report.at("egress").at("denied"), 5000);
}

TEST(Outcome, UnknownReasonIsAFaultOfOurs) {
  EXPECT_EQ(outcomeOf("no_such_reason", "x").reason, "supervisor_error");
}

}  // namespace
}  // namespace warder::report
