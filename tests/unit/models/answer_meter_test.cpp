#include <gtest/gtest.h>

#include "secrets/models/usage_meter.h"
#include "tests/support/event_message.h"

namespace warder::models {
namespace {

constexpr const char* kEvents = "text/event-stream; charset=utf-8";
constexpr const char* kBinary = "application/vnd.amazon.eventstream";
constexpr const char* kJson = "application/json";

struct Metered {
  Usage usage;
  std::string model;
  std::string error;
  std::string unreadable;
  bool told = false;
  bool complete = false;
};

std::string textOf(const Metered& got) {
  return std::to_string(got.usage.input) + "/" + std::to_string(got.usage.output) + "/" +
         std::to_string(got.usage.cache_read) + "/" + std::to_string(got.usage.cache_write) + "/" +
         std::to_string(got.usage.cache_write_1h) + " " + got.model + " " + got.error +
         (got.told ? " told" : " unknown") + (got.complete ? " complete" : " open");
}

struct Case {
  Dialect dialect;
  const char* content_type;
};

Metered meterIn(const Case& of, std::string_view bytes, std::size_t piece) {
  const auto meter = AnswerMeter::make(of.dialect, of.content_type);
  for (std::size_t at = 0; at < bytes.size(); at += piece) meter->feed(bytes.substr(at, piece));
  return {meter->usage(),      meter->model(),     meter->error(),
          meter->unreadable(), meter->usageTold(), meter->complete()};
}

/// input/output/cache read/cache write/of an hour, model, error; the same in any pieces.
std::string metered(const Case& of, std::string_view bytes) {
  const std::string whole = textOf(meterIn(of, bytes, bytes.size() + 1));
  for (const std::size_t piece : {1u, 2u, 5u, 13u, 64u})
    EXPECT_EQ(textOf(meterIn(of, bytes, piece)), whole);
  return whole;
}

constexpr std::string_view kStart =
    R"({"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"cache_creation":{"ephemeral_1h_input_tokens":5},"output_tokens":1}}})";
constexpr std::string_view kText =
    R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"{\"usage\":{\"output_tokens\":999}}"}})";
constexpr std::string_view kDelta =
    R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":50}})";
constexpr std::string_view kStop = R"({"type":"message_stop"})";

std::string eventsOf(std::initializer_list<std::string_view> all) {
  std::string text;
  for (const auto data : all) text += "event: x\ndata: " + std::string(data) + "\n\n";
  return text;
}

TEST(AnswerMeter, Anthropic) {
  const Case events{Dialect::Anthropic, kEvents};
  EXPECT_EQ(metered(events, eventsOf({kStart, kText})), "10/1/30/20/5 claude-x  unknown open");
  EXPECT_EQ(metered(events, eventsOf({kStart, kText, kDelta})),
            "10/50/30/20/5 claude-x  told open");
  EXPECT_EQ(metered(events, eventsOf({kStart, kText, kDelta, kStop})),
            "10/50/30/20/5 claude-x  told complete");
  EXPECT_EQ(metered(events,
                    eventsOf({kStart, R"({"type":"error","error":{"type":"overloaded_error"}})"})),
            "10/1/30/20/5 claude-x overloaded_error unknown open");
  const Case json{Dialect::Anthropic, kJson};
  const std::string whole =
      R"({"model":"claude-x","content":[{"type":"text","text":"t"}],"usage":{"input_tokens":7,"output_tokens":8}})";
  EXPECT_EQ(metered(json, whole), "7/8/0/0/0 claude-x  told complete");
  EXPECT_EQ(metered(json, whole.substr(0, whole.size() - 1)), "7/8/0/0/0 claude-x  unknown open");
  EXPECT_EQ(metered(json, R"({"input_tokens":1234})"), "0/0/0/0/0   unknown complete");
}

TEST(AnswerMeter, OpenaiResponses) {
  const std::string usage =
      R"("usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":9},"total_tokens":120})";
  const Case events{Dialect::OpenaiResponses, kEvents};
  const std::string created =
      R"({"type":"response.created","response":{"id":"r","model":"gpt-x","error":null,"usage":null}})";
  const std::string completed =
      R"({"type":"response.completed","response":{"model":"gpt-x-2026","output":[{"usage":{"output_tokens":9999}}],)" +
      usage + "}}";
  EXPECT_EQ(
      metered(events, eventsOf({created, R"({"type":"response.output_text.delta","delta":"x"})"})),
      "0/0/0/0/0 gpt-x  unknown open");
  EXPECT_EQ(metered(events, eventsOf({created, completed})),
            "40/20/60/0/0 gpt-x-2026  told complete");
  EXPECT_EQ(
      metered(
          events,
          eventsOf({R"({"type":"response.failed","response":{"error":{"code":"server_error"}}})"})),
      "0/0/0/0/0  server_error unknown complete");
  EXPECT_EQ(
      metered(events, eventsOf({R"({"type":"error","code":"rate_limit_exceeded","message":"m"})"})),
      "0/0/0/0/0  rate_limit_exceeded unknown open");
  const Case json{Dialect::OpenaiResponses, kJson};
  EXPECT_EQ(metered(json, R"({"model":"gpt-x","error":null,)" + usage + "}"),
            "40/20/60/0/0 gpt-x  told complete");
  EXPECT_EQ(metered(json, R"({"error":{"code":"insufficient_quota","type":"t"}})"),
            "0/0/0/0/0  insufficient_quota unknown complete");
  EXPECT_EQ(metered(json, R"({"error":{"type":"invalid_request_error","code":null}})"),
            "0/0/0/0/0  invalid_request_error unknown complete");
}

/// Without stream_options.include_usage nothing is told, and nothing is made up.
TEST(AnswerMeter, OpenaiChat) {
  const std::string chunk =
      R"({"model":"gpt-x","choices":[{"delta":{"content":"x"}}],"usage":null})";
  const std::string last =
      R"({"model":"gpt-x","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":60}}})";
  const Case events{Dialect::OpenaiChat, kEvents};
  EXPECT_EQ(metered(events, eventsOf({chunk, chunk, "[DONE]"})),
            "0/0/0/0/0 gpt-x  unknown complete");
  EXPECT_EQ(metered(events, eventsOf({chunk, last})), "40/20/60/0/0 gpt-x  told open");
  EXPECT_EQ(metered(events, eventsOf({chunk, last, "[DONE]"})),
            "40/20/60/0/0 gpt-x  told complete");
  EXPECT_EQ(metered(events, eventsOf({"[DONE]x"})), "0/0/0/0/0   unknown open");
  EXPECT_EQ(metered(events, "data:[DONE]\r\n\r\n"), "0/0/0/0/0   unknown complete");
  EXPECT_EQ(metered({Dialect::OpenaiChat, kJson}, last), "40/20/60/0/0 gpt-x  told complete");
}

TEST(AnswerMeter, Gemini) {
  const std::string first =
      R"({"candidates":[{"content":{"parts":[{"text":"x"}]}}],"modelVersion":"gemini-x","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":2,"cachedContentTokenCount":60}})";
  const std::string last =
      R"({"candidates":[{"finishReason":"STOP"}],"modelVersion":"gemini-x","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"thoughtsTokenCount":5,"toolUsePromptTokenCount":3,"cachedContentTokenCount":60}})";
  const Case events{Dialect::Gemini, kEvents};
  EXPECT_EQ(metered(events, eventsOf({first})), "40/2/60/0/0 gemini-x  unknown open");
  EXPECT_EQ(metered(events, eventsOf({first, last})), "43/25/60/0/0 gemini-x  told complete");
  const Case json{Dialect::Gemini, kJson};
  EXPECT_EQ(metered(json, "[" + first + ",\r\n" + last + "]"),
            "43/25/60/0/0 gemini-x  told complete");
  EXPECT_EQ(metered(json, "[" + first + ",\r\n"), "40/2/60/0/0 gemini-x  unknown open");
  EXPECT_EQ(metered(json, last), "43/25/60/0/0 gemini-x  told complete");
  EXPECT_EQ(metered(json, R"([{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}])"),
            "0/0/0/0/0  RESOURCE_EXHAUSTED unknown complete");
  EXPECT_EQ(
      metered(
          events,
          eventsOf(
              {R"({"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}})"})),
      "4/0/0/0/0   told complete");
}

std::string chunkOf(std::string_view event) {
  return support::eventMessage(
      {{":event-type", "chunk"}, {":content-type", kJson}, {":message-type", "event"}},
      R"({"p":"abc","bytes":")" + support::base64Of(event) + R"("})");
}

TEST(AnswerMeter, BedrockInvoke) {
  const Case binary{Dialect::Bedrock, kBinary};
  const std::string stop =
      R"({"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":10,"outputTokenCount":50}})";
  const std::string start = chunkOf(kStart) + chunkOf(kText);
  EXPECT_EQ(metered(binary, start), "10/1/30/20/5 claude-x  unknown open");
  const std::string whole = start + chunkOf(kDelta) + chunkOf(stop);
  EXPECT_EQ(metered(binary, whole), "10/50/30/20/5 claude-x  told complete");
  EXPECT_EQ(metered(binary, whole.substr(0, whole.size() - 1)),
            "10/50/30/20/5 claude-x  told open");
  const std::string long_delta = R"({"type":"message_delta","context_management":{"x":")" +
                                 std::string(5'000, 'y') + R"("},"usage":{"output_tokens":77}})";
  EXPECT_EQ(metered(binary, start + chunkOf(long_delta)), "10/77/30/20/5 claude-x  told open");
  EXPECT_EQ(
      metered(
          binary,
          chunkOf(
              R"({"completion":"x","amazon-bedrock-invocationMetrics":{"inputTokenCount":3,"outputTokenCount":4}})")),
      "3/4/0/0/0   told open");
  EXPECT_EQ(metered({Dialect::Bedrock, kJson},
                    R"({"model":"claude-x","usage":{"input_tokens":7,"output_tokens":8}})"),
            "7/8/0/0/0 claude-x  told complete");
}

TEST(AnswerMeter, BedrockConverse) {
  const std::string usage =
      R"("usage":{"inputTokens":10,"outputTokens":20,"totalTokens":30,"cacheReadInputTokens":4,"cacheWriteInputTokens":5})";
  EXPECT_EQ(metered({Dialect::Bedrock, kJson}, R"({"output":{"message":{}},)" + usage + "}"),
            "10/20/4/5/0   told complete");
  const Case binary{Dialect::Bedrock, kBinary};
  const std::string delta = support::eventMessage({{":event-type", "contentBlockDelta"}},
                                                  R"({"delta":{"text":"x"},"p":"abc"})");
  const std::string stop =
      support::eventMessage({{":event-type", "messageStop"}}, R"({"stopReason":"end_turn"})");
  const std::string metadata =
      support::eventMessage({{":event-type", "metadata"}}, "{" + usage + R"(,"metrics":{}})");
  EXPECT_EQ(metered(binary, delta + stop), "0/0/0/0/0   unknown open");
  EXPECT_EQ(metered(binary, delta + stop + metadata), "10/20/4/5/0   told complete");
  const std::string exception = support::eventMessage(
      {{":message-type", "exception"}, {":exception-type", "throttlingException"}},
      R"({"message":"m"})");
  EXPECT_EQ(metered(binary, delta + exception), "0/0/0/0/0  throttlingException unknown open");
}

TEST(AnswerMeter, BelievesNoMessageWhoseChecksumIsWrong) {
  const Case binary{Dialect::Bedrock, kBinary};
  std::string bad = chunkOf(kDelta);
  bad.back() = static_cast<char>(bad.back() ^ 1);
  EXPECT_EQ(metered(binary, chunkOf(kStart) + bad + chunkOf(kDelta)),
            "10/1/30/20/5 claude-x  unknown open");
  EXPECT_TRUE(meterIn(binary, "no event stream at all", 7).unreadable.starts_with("other 6e6f20"));
}

TEST(AnswerMeter, SeesTheFormOfAnAnswerThatIsAnnouncedAsAnother) {
  for (const char* type : {"", "text/plain", "application/json"})
    EXPECT_EQ(metered({Dialect::Anthropic, type}, "\r\n" + eventsOf({kStart, kDelta, kStop})),
              "10/50/30/20/5 claude-x  told complete");
  EXPECT_EQ(metered({Dialect::Anthropic, "TEXT/Event-Stream ;x"}, eventsOf({kStop})),
            "0/0/0/0/0   unknown complete");
  EXPECT_TRUE(AnswerMeter::make(Dialect::Anthropic, kEvents)->streamed());
  EXPECT_FALSE(AnswerMeter::make(Dialect::Anthropic, kJson)->streamed());
  EXPECT_EQ(AnswerMeter::make(Dialect::None, kJson), nullptr);
}

// BC-055: a compressed body that nobody announced is named, with its first bytes.
TEST(AnswerMeter, NamesACompressedBody) {
  const Case json{Dialect::Anthropic, kJson};
  EXPECT_EQ(meterIn(json, "\x1f\x8b\x08" + std::string(300, 'x'), 1).unreadable,
            "gzip 1f8b0878787878787878787878787878");
  EXPECT_EQ(meterIn(json,
                    "\x28\xb5\x2f\xfd"
                    "abcd",
                    100)
                .unreadable,
            "zstd 28b52ffd61626364");
  EXPECT_EQ(meterIn(json, "<html>", 100).unreadable, "other 3c68746d6c3e");
  EXPECT_EQ(meterIn(json, R"({"error":{"type":"api_error"}})", 100).unreadable, "");
  const auto meter = AnswerMeter::make(Dialect::Anthropic, kJson,
                                       [](std::string& text) { text.assign(text.size(), '*'); });
  meter->feed("sk-ant-secret");
  EXPECT_EQ(meter->unreadable(), "other 2a2a2a2a2a2a2a2a2a2a2a2a2a");
}

}  // namespace
}  // namespace warder::models
