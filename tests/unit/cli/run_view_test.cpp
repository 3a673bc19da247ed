#include "supervisor/cli/run_view.h"

#include <gtest/gtest.h>

namespace warder::cli {
namespace {

using base::Event;

TEST(RunView, DescribesAnLlmCallWithTokensAndCost) {
  const Event call{"llm.call",
                   {{"model", "m-1"},
                    {"status", 200},
                    {"input_tokens", 12},
                    {"output_tokens", 3},
                    {"cost_usd", 0.5},
                    {"priced", true}}};
  EXPECT_EQ(describe(call), "llm call m-1: 200, 12 tokens in, 3 out, $0.5000");
}

TEST(RunView, NamesNoPriceWhereNoneIsKnown) {
  const Event call{"llm.call",
                   {{"model", "m-1"},
                    {"status", 200},
                    {"input_tokens", 12},
                    {"output_tokens", 3},
                    {"cost_usd", 0.0},
                    {"priced", false}}};
  EXPECT_EQ(describe(call), "llm call m-1: 200, 12 tokens in, 3 out");
}

TEST(RunView, SaysHowLongALineIsThatItDoesNotShowWhole) {
  EXPECT_EQ(shorten("abc", 3), "abc");
  EXPECT_EQ(shorten("abc", 4), "abc… (4 bytes; the results have all of it)");
}

TEST(RunView, SaysHowTheAgentEnded) {
  EXPECT_EQ(describe({"agent.exited", {{"code", 3}}}), "the agent ended (exit code 3)");
  EXPECT_EQ(describe({"agent.exited", {{"signal", "SIGKILL"}}}), "the agent ended (SIGKILL)");
}

TEST(RunView, DescribesWhatWasDenied) {
  EXPECT_EQ(describe({"broker.denied",
                      {{"method", "GET"}, {"host", "a.b"}, {"path", "/c"}, {"reason", "no rule"}}}),
            "denied: GET a.b/c (no rule)");
  EXPECT_EQ(describe({"dns.denied", {{"name", "a.b"}, {"type", "AAAA"}, {"sentence", "why"}}}),
            "denied: AAAA a.b (why)");
}

TEST(RunView, KeepsEventsThatNobodyNeedsToSeeToItself) {
  EXPECT_EQ(describe({"journal.seal", {{"of", 1}}}), "");
  EXPECT_EQ(describe({"something.new", {}}), "");
}

}  // namespace
}  // namespace warder::cli
