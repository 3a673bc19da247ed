#include "secrets/models/usage_meter.h"

#include <gtest/gtest.h>

namespace warder::models {
namespace {

const std::string kStream =
    "event: message_start\r\n"
    "data: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-opus-4-5-20251101\","
    "\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":"
    "30,"
    "\"cache_creation\":{\"ephemeral_5m_input_tokens\":15,\"ephemeral_1h_input_tokens\":5},"
    "\"output_tokens\":1}}}\r\n\r\n"
    ": comment\n\n"
    "event: content_block_delta\n"
    "data: "
    "{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"{\\\"usage\\\":{\\\"output_tokens\\\":"
    "9}}\"}}\n\n"
    "event: message_delta\n"
    "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":40}}\n\n"
    "event: message_delta\n"
    "data: {\"type\":\"message_delta\",\n"
    "data: \"usage\":{\"output_tokens\":50}}\n\n"
    "data: [DONE]\n\n";

void expectStreamUsage(const UsageMeter& meter) {
  EXPECT_EQ(meter.model(), "claude-opus-4-5-20251101");
  EXPECT_EQ(meter.usage().input, 10u);
  EXPECT_EQ(meter.usage().cache_write, 20u);
  EXPECT_EQ(meter.usage().cache_write_1h, 5u);
  EXPECT_EQ(meter.usage().cache_read, 30u);
  EXPECT_EQ(meter.usage().output, 50u);
}

TEST(UsageMeter, ReadsAStreamCutAnywhere) {
  for (std::size_t size = 1; size <= 200; ++size) {
    UsageMeter meter(true);
    for (std::size_t at = 0; at < kStream.size(); at += size)
      meter.feed(std::string_view(kStream).substr(at, size));
    expectStreamUsage(meter);
  }
}

TEST(UsageMeter, ReadsAWholeAnswer) {
  UsageMeter meter(false);
  meter.feed("{\"model\":\"claude-haiku-4-5\",\"content\":[{\"usage\":{\"output_tokens\":999}}],");
  meter.feed("\"usage\":{\"input_tokens\":7,\"output_tokens\":8}}");
  EXPECT_EQ(meter.model(), "claude-haiku-4-5");
  EXPECT_EQ(meter.usage().input, 7u);
  EXPECT_EQ(meter.usage().output, 8u);
}

TEST(UsageMeter, NamesTheProvidersError) {
  UsageMeter whole(false);
  whole.feed("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}");
  EXPECT_EQ(whole.error(), "overloaded_error");
  UsageMeter stream(true);
  stream.feed("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"}}\n\n");
  EXPECT_EQ(stream.error(), "api_error");
}

TEST(UsageMeter, DoesNotBelieveNumbersThatNoCallCanHave) {
  UsageMeter meter(false);
  meter.feed(
      "{\"usage\":{\"input_tokens\":1000000000,\"output_tokens\":1000000001,"
      "\"cache_read_input_tokens\":-5,\"cache_creation_input_tokens\":1e3}}");
  EXPECT_EQ(meter.usage().input, 1'000'000'000u);
  EXPECT_EQ(meter.usage().output, 0u);
  EXPECT_EQ(meter.usage().cache_read, 0u);
  EXPECT_EQ(meter.usage().cache_write, 0u);
}

TEST(UsageMeter, OutlivesRubbish) {
  UsageMeter meter(true);
  meter.feed("data: {{{{\n\ndata: \xff\xfe\n\n");
  meter.feed("data: " + std::string(300'000, '[') + "\n\n");
  meter.feed(kStream);
  expectStreamUsage(meter);
}

TEST(ModelScan, FindsOnlyTheTopLevelModel) {
  ModelScan scan;
  scan.feed("{\"messages\":[{\"model\":\"wrong\"}],\"metadata\":{\"model\":\"wrong\"},");
  scan.feed("\"model\":\"claude-");
  scan.feed("sonnet-4-5\",\"stream\":true}");
  EXPECT_EQ(scan.model(), "claude-sonnet-4-5");
}

TEST(PlainName, IsBoundedAndHarmless) {
  EXPECT_EQ(plainName("claude-opus-5[1m]"), "claude-opus-5[1m]");
  EXPECT_EQ(plainName("a\nb\x1b[31m\"<"), "a?b?[31m??");
  EXPECT_EQ(plainName(std::string(129, 'a')).size(), 128u);
  EXPECT_EQ(plainName(std::string(127, 'a')).size(), 127u);
}

}  // namespace
}  // namespace warder::models
