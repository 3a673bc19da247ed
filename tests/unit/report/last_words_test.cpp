#include "supervisor/report/last_words.h"

#include <gtest/gtest.h>

namespace warder::report {
namespace {

// As Claude Code 2.1.332 writes it.
constexpr const char* kSuccess =
    R"({"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed",)"
    R"("result":"Done.","session_id":"s-1","num_turns":3,"total_cost_usd":0.0421,)"
    R"("usage":{"input_tokens":10,"output_tokens":20,"server_tool_use":{"x":1}},)"
    R"("permission_denials":[]})";
constexpr const char* kApiError =
    R"({"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error",)"
    R"("api_error_status":401,"result":"Invalid API key","session_id":"s-1","num_turns":1})";

TEST(LastWords, ReadsTheResultLine) {
  const auto words = parseLastWords(kSuccess);
  ASSERT_TRUE(words);
  EXPECT_FALSE(words->is_error);
  EXPECT_EQ(words->result, "Done.");
  EXPECT_EQ(words->session_id, "s-1");
  EXPECT_EQ(words->num_turns, 3);
  EXPECT_DOUBLE_EQ(*words->total_cost_usd, 0.0421);
  EXPECT_EQ(words->usage.size(), 2u);  // numbers only
}

TEST(LastWords, BelievesIsErrorAndNotTheSubtype) {
  const auto words = parseLastWords(kApiError);
  ASSERT_TRUE(words);
  EXPECT_EQ(words->subtype, "success");
  EXPECT_TRUE(words->is_error);
  EXPECT_EQ(words->api_error_status, 401);
}

TEST(LastWords, AreNothingUnlessTheyAreAWholeResultLine) {
  for (const char* line :
       {"", "null", "[]", "{}", R"({"type":"result"})", R"({"type":"result","is_error":"false"})",
        R"({"type":"assistant","is_error":false})", R"({"type":"result","is_error":fal)",
        R"({"type":5,"is_error":true})"})
    EXPECT_FALSE(parseLastWords(line)) << line;
  const std::string whole = kSuccess;
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_FALSE(parseLastWords(whole.substr(0, cut)));
}

TEST(LastWords, FieldsOfWrongTypesAreLeftOut) {
  const auto words = parseLastWords(
      R"({"type":"result","is_error":true,"result":5,"num_turns":"x","usage":[],"total_cost_usd":null})");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->result, "");
  EXPECT_FALSE(words->num_turns);
  EXPECT_FALSE(words->total_cost_usd);
}

TEST(LastWords, ClaimIsBoundedWhateverTheAgentWrites) {
  json::object line{{"type", "result"}, {"is_error", false}, {"result", std::string(500'000, 'x')}};
  json::object usage;
  for (int i = 0; i < 1000; ++i) usage["k" + std::to_string(i)] = i;
  line["usage"] = usage;
  const auto words = parseLastWords(json::serialize(line));
  ASSERT_TRUE(words);
  EXPECT_LT(json::serialize(claimOf(*words)).size(), 8000u);
}

TEST(LastWords, StreamOfEventsIsKnownByItsLinesWholeOrCut) {
  EXPECT_TRUE(looksLikeStreamJson(R"({"type":"assistant","message":{)"));
  EXPECT_TRUE(looksLikeStreamJson(R"({"session_id":"s","type":"system"})"));
  EXPECT_FALSE(looksLikeStreamJson("All done."));
  EXPECT_FALSE(looksLikeStreamJson(R"({"answer":42})"));
}

}  // namespace
}  // namespace warder::report
