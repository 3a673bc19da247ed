#include "secrets/models/request_judge.h"

#include <gtest/gtest.h>

namespace warder::models {
namespace {

std::string nameIn(const RequestJudge& judge) {
  return judge.refusal() ? std::string(nameOf(judge.refusal()->fault)) : "fine";
}

/// "fine", or the name of what is wrong; the same however the body is cut.
std::string judged(const JudgeRules& rules, std::string_view body) {
  std::string first;
  for (const std::size_t piece : {body.size() + 1, std::size_t{1}, std::size_t{7}}) {
    RequestJudge judge(rules);
    for (std::size_t at = 0; at < body.size(); at += piece) judge.feed(body.substr(at, piece));
    const bool fine = judge.finish();
    EXPECT_EQ(fine, !judge.refusal());
    if (first.empty()) first = nameIn(judge);
    EXPECT_EQ(nameIn(judge), first) << body;
  }
  return first;
}

std::string judged(Dialect dialect, std::string_view body) {
  JudgeRules rules;
  rules.dialect = dialect;
  return judged(rules, body);
}

JudgeRules onlyModels(Dialect dialect, std::vector<std::string> models) {
  JudgeRules rules;
  rules.dialect = dialect;
  rules.models = std::move(models);
  return rules;
}

TEST(FitsPattern, TakesStarsForAnything) {
  EXPECT_TRUE(fitsPattern("claude-*", "claude-opus"));
  EXPECT_TRUE(fitsPattern("claude-*", "claude-"));
  EXPECT_TRUE(fitsPattern("*sonnet*", "us.anthropic.claude-sonnet-4"));
  EXPECT_TRUE(fitsPattern("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(fitsPattern("*", ""));
  EXPECT_TRUE(fitsPattern("", ""));
  EXPECT_FALSE(fitsPattern("claude-*", "xclaude-opus"));
  EXPECT_FALSE(fitsPattern("a*b*c", "a-c-b"));
  EXPECT_FALSE(fitsPattern("claude", "claude-opus"));
  EXPECT_FALSE(fitsPattern("", "x"));
}

// BC-104: what runs in the box may not call whichever model it likes.
TEST(RequestJudge, AllowsTheModelsOfThePolicyOnly) {
  const auto rules = onlyModels(Dialect::Anthropic, {"claude-haiku-*", "claude-opus-5"});
  EXPECT_EQ(judged(rules, R"({"model":"claude-haiku-4-5","messages":[]})"), "fine");
  EXPECT_EQ(judged(rules, R"({"messages":[],"model":"claude-opus-5"})"), "fine");
  for (const char* body :
       {R"({"model":"claude-opus-5-5"})", R"({"model":""})", R"({"model":null})", R"({"model":1})",
        R"({"model":{"a":"claude-opus-5"}})", R"({"model":["claude-opus-5","gpt"]})", R"({})",
        R"({"Model":"gpt","model":null})", R"({"MODEL":"gpt"})", R"({"mod\u0065l":"gpt"})",
        R"({"messages":[{"model":"claude-opus-5"}]})", R"({"metadata":{"model":"claude-opus-5"}})"})
    EXPECT_NE(judged(rules, body), "fine") << body;
  const std::string endless = "claude-haiku-" + std::string(2'000, 'x');
  EXPECT_EQ(judged(rules, R"({"model":")" + endless + R"("})"), "model_not_allowed");
}

TEST(RequestJudge, SaysWhichModelsThereAre) {
  RequestJudge judge(onlyModels(Dialect::Anthropic, {"claude-haiku-*"}));
  judge.feed(R"({"stream":true,"model":"gpt-\n9")");
  ASSERT_TRUE(judge.refusal());  // before the body is complete
  EXPECT_EQ(judge.refusal()->status, 403u);
  EXPECT_EQ(judge.refusal()->error_type, "permission_error");
  EXPECT_NE(judge.refusal()->sentence.find("\"gpt-?9\"; it allows: claude-haiku-*"),
            std::string::npos)
      << judge.refusal()->sentence;
  EXPECT_EQ(judge.model(), "gpt-?9");
  EXPECT_FALSE(judge.finish());
}

TEST(RequestJudge, NamesTenModelsAtMost) {
  const auto sentenceOf = [](std::size_t count) {
    std::vector<std::string> models;
    for (std::size_t i = 0; i < count; ++i) models.push_back("m" + std::to_string(i));
    RequestJudge judge(onlyModels(Dialect::Anthropic, models));
    judge.feed(R"({"model":"x")");
    return judge.refusal()->sentence;
  };
  EXPECT_TRUE(sentenceOf(10).ends_with(", m9"));
  EXPECT_TRUE(sentenceOf(11).ends_with(", m9 and more"));
}

TEST(RequestJudge, JudgesTheModelOfThePathToo) {
  auto rules = onlyModels(Dialect::Gemini, {"gemini-2.5-*"});
  rules.path_model = "gemini-2.5-pro";
  EXPECT_EQ(judged(rules, R"({"contents":[]})"), "fine");
  EXPECT_EQ(judged(rules, R"({"generateContentRequest":{"model":"models/gemini-2.5-pro"}})"),
            "fine");
  EXPECT_EQ(judged(rules, R"({"generateContentRequest":{"model":"models/gemini-9"}})"),
            "model_not_allowed");
  rules.path_model = "gemini-9";
  EXPECT_EQ(judged(rules, R"({"contents":[]})"), "model_not_allowed");
  auto bedrock = onlyModels(Dialect::Bedrock, {"*anthropic.claude-*"});
  bedrock.path_model = "us.anthropic.claude-sonnet-4-20250514-v1:0";
  EXPECT_EQ(judged(bedrock, R"({"messages":[]})"), "fine");
  EXPECT_EQ(judged(bedrock, R"({"additionalModelRequestFields":{"model":"nova"}})"),
            "model_not_allowed");
}

TEST(RequestJudge, TellsModelAndStream) {
  JudgeRules rules;
  rules.dialect = Dialect::Anthropic;
  RequestJudge judge(rules, [](std::string& text) {
    const auto at = text.find("sk-ant-x");
    if (at != std::string::npos) text.replace(at, 8, "PLACEHLD");
  });
  judge.feed(R"({"model":"claude-sk-ant-x","messages":[{"stream":true}],"stream":false})");
  EXPECT_TRUE(judge.finish());
  EXPECT_FALSE(judge.streamed());
  EXPECT_EQ(judge.model(), "claude-PLACEHLD");
  RequestJudge streams(rules);
  streams.feed(R"({"stream":true,"model":"m"})");
  EXPECT_TRUE(streams.finish());
  EXPECT_TRUE(streams.streamed());
}

TEST(RequestJudge, RefusesWhatIsNoJsonObject) {
  for (const std::string_view body : {std::string_view(""),
                                      std::string_view(" "),
                                      std::string_view("[]"),
                                      std::string_view("\"x\""),
                                      std::string_view("1"),
                                      std::string_view("true"),
                                      std::string_view("null"),
                                      std::string_view("{"),
                                      std::string_view("{}{}"),
                                      std::string_view("{} x"),
                                      std::string_view("{\"a\":NaN}"),
                                      std::string_view("{\"a\":1,}"),
                                      std::string_view("/* */{}"),
                                      std::string_view("{\"a\":1}// end"),
                                      std::string_view("\xef\xbb\xbf{}"),
                                      std::string_view("{\0\"\0a\0", 6),
                                      std::string_view("\xff\xfe{\0}\0", 6),
                                      std::string_view("{\"a\":\"\xc3\x28\"}"),
                                      std::string_view("{\"a\":\"\n\"}"),
                                      std::string_view("{'model':'m'}"),
                                      std::string_view("model=m"),
                                      std::string_view("[{\"model\":\"m\"}]")})
    EXPECT_EQ(judged(Dialect::Anthropic, body), "not_json") << body;
  EXPECT_EQ(judged(Dialect::Anthropic, "{}"), "fine");
  EXPECT_EQ(judged(Dialect::Anthropic, " \r\n{ } \n"), "fine");
  EXPECT_EQ(judged(Dialect::None, "anything"), "fine");
}

TEST(RequestJudge, RefusesADeepBody) {
  const auto nested = [](std::size_t depth) {
    return "{\"metadata\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_EQ(judged(Dialect::Anthropic, nested(256)), "fine");
  EXPECT_EQ(judged(Dialect::Anthropic, nested(257)), "not_json");
}

TEST(RequestJudge, RefusesAKeyThatIsThereTwice) {
  for (const char* body : {
           R"({"model":"a","model":"a"})",
           R"({"model":"a","mod\u0065l":"b"})",
           R"({"model":"a","Model":"b"})",
           R"({"a":1,"a":1})",
           R"({"messages":[],"meſſages":[]})",
           R"({"messages":[{"role":"user","content":[{"type":"text","type":"image"}]}]})",
           R"({"messages":[{"content":[{"source":{"type":"text","type":"url"}}]}]})",
           R"({"tools":[{"name":"x","type":"custom","typ\u0065":"custom"}]})",
           R"({"mcp_servers":[],"mcpServers":[]})",
       })
    EXPECT_EQ(judged(Dialect::Anthropic, body), "duplicate_key") << body;
  EXPECT_EQ(judged(Dialect::Gemini, R"({"contents":[{"parts":[{"fileData":{},"file_data":{}}]}]})"),
            "duplicate_key");
  EXPECT_EQ(judged(Dialect::OpenaiChat, R"({"to\u212aens":1,"max_tokens":1,"max_tokens":2})"),
            "duplicate_key");
}

/// What tools are called with is theirs.
TEST(RequestJudge, LetsKeysRepeatWhereNothingIsJudged) {
  EXPECT_EQ(judged(Dialect::Anthropic,
                   R"({"messages":[{"content":[{"type":"tool_use","input":{"a":1,"a":2}}]}],
                       "tools":[{"name":"t","input_schema":{"properties":{"model":{},"Model":{}}}}]})"),
            "fine");
  EXPECT_EQ(judged(Dialect::Anthropic, R"({"messages":[{"model":1},{"model":2}]})"), "fine");
}

TEST(RequestJudge, BoundsTheKeysOfAnObject) {
  const auto keys = [](std::size_t count) {
    std::string body = "{\"k\":0";
    for (std::size_t i = 1; i < count; ++i) body += ",\"k" + std::to_string(i) + "\":1";
    return body + "}";
  };
  EXPECT_EQ(judged(Dialect::Anthropic, keys(kMostJudgedKeys)), "fine");
  EXPECT_EQ(judged(Dialect::Anthropic, keys(kMostJudgedKeys + 1)), "not_json");
  EXPECT_EQ(
      judged(Dialect::Anthropic, "{\"metadata\":" + keys(kMostJudgedKeys + 1) + ",\"messages\":[" +
                                     keys(kMostJudgedKeys) + "," + keys(kMostJudgedKeys) + "]}"),
      "fine");
}

TEST(RequestJudge, NeedsAStreamThatTellsItsUsageUnderABudget) {
  JudgeRules rules;
  rules.dialect = Dialect::OpenaiChat;
  const char* silent = R"({"model":"m","stream":true})";
  EXPECT_EQ(judged(rules, silent), "fine");
  rules.needs_usage = true;
  for (const char* body :
       {silent, R"({"stream":true,"stream_options":{"include_usage":false}})",
        R"({"stream":true,"stream_options":{"include_usage":"true"}})",
        R"({"stream":1,"stream_options":null})", R"({"stream":"true"})",
        R"({"stream":true,"metadata":{"stream_options":{"include_usage":true}}})"})
    EXPECT_EQ(judged(rules, body), "usage_not_told") << body;
  EXPECT_EQ(judged(rules, R"({"stream_options":{"include_usage":true},"stream":true})"), "fine");
  EXPECT_EQ(judged(rules, R"({"stream":false})"), "fine");
  EXPECT_EQ(judged(rules, R"({"model":"m"})"), "fine");
  rules.dialect = Dialect::OpenaiResponses;
  EXPECT_EQ(judged(rules, R"({"stream":true,"background":false})"), "fine");
  EXPECT_EQ(judged(rules, R"({"background":true})"), "usage_not_told");
  rules.needs_usage = false;
  EXPECT_EQ(judged(rules, R"({"background":true})"), "fine");
}

TEST(RequestJudge, PassesOverHugeTexts) {
  JudgeRules rules;
  rules.dialect = Dialect::Anthropic;
  RequestJudge judge(rules);
  judge.feed(R"({"model":"m","messages":[{"role":"user","content":[{"type":"image","source":)");
  judge.feed(R"({"type":"base64","media_type":"image/png","data":")");
  const std::string piece(65'536, 'A');
  for (int i = 0; i < 256; ++i) judge.feed(piece);
  judge.feed(R"("}}]}],"tools":[{"type":"web_fetch_20250910"}]})");
  EXPECT_FALSE(judge.finish());
  EXPECT_EQ(nameIn(judge), "provider_fetch");
}

}  // namespace
}  // namespace warder::models
