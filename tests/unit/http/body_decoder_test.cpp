#include "secrets/http/body_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warder::http {
namespace {

using testing::HasSubstr;

struct Outcome {
  std::string data;
  std::size_t consumed = 0;
  bool complete = false;
  std::string fault;
};

/// Feeds pieces of `size` bytes.
Outcome decode(Framing framing, std::string_view bytes, std::size_t size) {
  BodyDecoder decoder(framing);
  Outcome outcome;
  while (!bytes.empty() && !decoder.complete() && !decoder.bad()) {
    const auto step = decoder.step(bytes.substr(0, size));
    if (step.consumed == 0) break;
    outcome.data += step.data;
    outcome.consumed += step.consumed;
    bytes.remove_prefix(step.consumed);
  }
  outcome.complete = decoder.complete();
  outcome.fault = decoder.fault();
  return outcome;
}

constexpr Framing kChunked{Framing::Kind::Chunked, 0};

TEST(BodyDecoder, TakesChunksApartInPiecesOfAnySize) {
  const std::string body =
      "5\r\nhello\r\n6;ext=\"x\"\r\n world\r\n0\r\nX-Trailer: dropped\r\n\r\nnext";
  for (std::size_t size = 1; size <= body.size(); ++size) {
    const Outcome outcome = decode(kChunked, body, size);
    EXPECT_EQ(outcome.data, "hello world") << size;
    EXPECT_TRUE(outcome.complete) << size;
    EXPECT_EQ(outcome.consumed, body.size() - 4) << size;
  }
}

TEST(BodyDecoder, RefusesChunksThatTwoParsersCouldReadDifferently) {
  const struct {
    const char* bytes;
    const char* sentence;
  } cases[] = {
      {"5\nhello\r\n", "carriage return"},
      {"5\r\nhello\n", "carriage return"},
      {"5\r\nhelloX\r\n", "longer than it says"},
      {"5\rX", "carriage return"},
      {"\r\n", "hexadecimal"},
      {" 5\r\nhello\r\n", "hexadecimal"},
      {"5 \r\nhello\r\n", "hexadecimal"},
      {"0x5\r\nhello\r\n", "hexadecimal"},
      {"-1\r\n", "hexadecimal"},
      {"+5\r\n", "hexadecimal"},
      {";ext\r\n", "hexadecimal"},
      {"1000000000000000\r\n", "hexadecimal"},
      {"5\x01\r\n", "not valid"},
      {"0\r\nX: a\nY: b\r\n\r\n", "carriage return"},
  };
  for (const auto& one : cases)
    EXPECT_THAT(decode(kChunked, one.bytes, 3).fault, HasSubstr(one.sentence)) << one.bytes;
}

TEST(BodyDecoder, BoundsTheChunkLine) {
  const std::string fits = "1;" + std::string(kMaxChunkLine - 3, 'e') + "\r\na\r\n0\r\n\r\n";
  EXPECT_TRUE(decode(kChunked, fits, 7).complete);
  const std::string over = "1;" + std::string(kMaxChunkLine - 2, 'e') + "\r\na\r\n0\r\n\r\n";
  EXPECT_NE(decode(kChunked, over, 7).fault, "");
}

TEST(BodyDecoder, BoundsTheTrailers) {
  const std::string line = "X: " + std::string(1019, 'a') + "\r\n";  // 1024 bytes
  std::string eight;
  for (int i = 0; i < 8; ++i) eight += line;
  EXPECT_TRUE(decode(kChunked, "0\r\n" + eight + "\r\n", 100).complete);
  EXPECT_THAT(decode(kChunked, "0\r\n" + eight + "X: a\r\n\r\n", 100).fault, HasSubstr("8192"));
}

TEST(BodyDecoder, CountsALengthExactly) {
  const Outcome outcome = decode({Framing::Kind::Length, 5}, "hello, world", 2);
  EXPECT_EQ(outcome.data, "hello");
  EXPECT_TRUE(outcome.complete);
  EXPECT_TRUE(BodyDecoder({Framing::Kind::Length, 0}).complete());
  EXPECT_TRUE(BodyDecoder({Framing::Kind::None, 0}).complete());
}

TEST(BodyDecoder, TellsACutFromAnEnd) {
  BodyDecoder length({Framing::Kind::Length, 5});
  length.step("hell");
  EXPECT_FALSE(length.endOfStream());
  BodyDecoder chunked(kChunked);
  chunked.step("5\r\n");
  chunked.step("hello");
  EXPECT_FALSE(chunked.endOfStream());
  BodyDecoder open({Framing::Kind::UntilClose, 0});
  open.step("hello");
  EXPECT_TRUE(open.endOfStream());
}

}  // namespace
}  // namespace warder::http
