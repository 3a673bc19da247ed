// How a run stands: counted from events, and read back as it was printed.
#include "supervisor/init/run_status.h"

#include <gtest/gtest.h>

#include "supervisor/base/wire.h"

namespace warder::init {
namespace {

namespace json = base::json;

RunStatus after(const std::vector<base::Event>& events) {
  RunStatus status;
  for (const auto& event : events) addEvent(status, event);
  return status;
}

const base::Event kStart{"run.started",
                         {{"run_id", "r-1"}, {"memory", {{"warn_at_percent", {70, 80, 90}}}}}};

json::object call(int code, double cost) {
  return {{"status", code},   {"input_tokens", 10}, {"cache_read_tokens", 5}, {"output_tokens", 3},
          {"cost_usd", cost}, {"priced", true},     {"cache_write_tokens", 1}};
}

TEST(RunStatus, CountsWhatEventsTell) {
  const RunStatus status =
      after({kStart,
             {"agent.started", {{"pid", 7}, {"argv", {"/usr/bin/claude", "-p"}}}},
             {"llm.call", call(200, 0.5)},
             {"llm.call", call(429, 0)},
             {"broker.denied", {{"host", "a"}, {"suppressed", 4}}},
             {"broker.denied", {{"host", "a"}}},
             {"dns.denied", {{"name", "b"}, {"suppressed", 1}}},
             {"preflight.warning", {{"sentence", "x"}}}});
  EXPECT_EQ(status.run_id, "r-1");
  EXPECT_EQ(status.agent.pid, 7);
  EXPECT_EQ(status.agent.program, "/usr/bin/claude");
  EXPECT_EQ(status.llm.calls, 2U);
  EXPECT_EQ(status.llm.errors, 1U);
  EXPECT_EQ(status.llm.input_tokens, 32U);
  EXPECT_EQ(status.llm.output_tokens, 6U);
  EXPECT_DOUBLE_EQ(status.llm.cost_usd, 0.5);
  EXPECT_EQ(status.denied, 8U);
  EXPECT_EQ(status.warnings, 1U);
  EXPECT_EQ(after({kStart, {"agent.started", {{"pid", 7}}}, {"agent.exited", {}}}).agent.pid, -1);
}

TEST(RunStatus, FindsTheNextMarkOnBothSidesOfEach) {
  RunStatus status = after({kStart});
  EXPECT_EQ(status.memory.next_mark_percent, 70);
  const auto next = [&](std::uint64_t used, std::uint64_t limit) {
    setMemory(status, {used, limit, "cgroup"});
    return status.memory.next_mark_percent;
  };
  EXPECT_EQ(next(699, 1000), 70);
  EXPECT_EQ(next(700, 1000), 80);
  EXPECT_EQ(next(899, 1000), 90);
  EXPECT_EQ(next(900, 1000), 0);
  EXPECT_EQ(next(900, 0), 70);
  EXPECT_EQ(next(~0ULL, ~0ULL), 0);
}

TEST(RunStatus, AWarningOfMemoryCarriesWhatIsUsed) {
  const RunStatus status = after(
      {kStart, {"memory.warning", {{"used_bytes", 850}, {"limit_bytes", 1000}, {"source", "v2"}}}});
  EXPECT_EQ(status.memory.used_bytes, 850U);
  EXPECT_EQ(status.memory.source, "v2");
  EXPECT_EQ(status.memory.next_mark_percent, 90);
  EXPECT_EQ(status.warnings, 1U);
}

TEST(RunStatus, ReadsBackWhatItPrinted) {
  RunStatus status =
      after({kStart,
             {"agent.started", {{"pid", 7}, {"argv", {"/a"}}}},
             {"llm.call", call(200, 0.25)},
             {"run.finished",
              {{"outcome", {{"class", "ok"}, {"reason", "completed"}, {"sentence", "done"}}}}}});
  status.phase = "delivering";
  status.elapsed_ms = 1234;
  setMemory(status, {5, 10, "v1"});
  const json::object printed = toJson(status);
  const auto copy = runStatusFromJson(base::parseJson(json::serialize(printed))->as_object());
  ASSERT_TRUE(copy);
  EXPECT_EQ(json::serialize(toJson(*copy)), json::serialize(printed));
  EXPECT_EQ(copy->outcome->cls, "ok");
}

TEST(RunStatus, SaysNullWhereThereIsNothing) {
  const json::object printed = toJson(RunStatus());
  EXPECT_TRUE(printed.at("agent").at("pid").is_null());
  EXPECT_TRUE(printed.at("memory").at("limit_bytes").is_null());
  EXPECT_TRUE(printed.at("memory").at("next_mark_percent").is_null());
  EXPECT_TRUE(printed.at("outcome").is_null());
}

TEST(RunStatus, WrongFieldsArePassedOver) {
  const RunStatus status = after({{"run.started", {{"run_id", 5}, {"memory", "x"}}},
                                  {"agent.started", {{"pid", "x"}, {"argv", json::array()}}},
                                  {"llm.call", {{"input_tokens", -4}, {"cost_usd", "x"}}},
                                  {"run.finished", {{"outcome", 3}}},
                                  {"nobody.knows", {}}});
  EXPECT_EQ(status.llm.input_tokens, 0U);
  EXPECT_FALSE(status.outcome);
}

TEST(RunStatus, AnObjectThatIsNoneIsRefused) {
  EXPECT_FALSE(runStatusFromJson({}));
  EXPECT_FALSE(runStatusFromJson({{"agent", 1}, {"memory", 2}, {"llm", 3}, {"egress", 4}}));
}

}  // namespace
}  // namespace warder::init
