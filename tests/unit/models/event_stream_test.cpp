#include "secrets/models/event_stream.h"

#include <gtest/gtest.h>

#include "tests/support/event_message.h"

namespace warder::models {
namespace {

class Record final : public EventStreamReader::Sink {
 public:
  void onMessageBegin() override { log += '<'; }
  void onHeader(std::string_view name, std::string_view value) override {
    log += std::string(name) + "=" + std::string(value) + ";";
  }
  void onPayload(std::string_view piece) override { payload += piece; }
  void onMessageEnd(bool sound) override {
    log += payload + (sound ? ">" : "!");
    payload.clear();
  }

  std::string log;
  std::string payload;
};

struct Read {
  std::string log;
  bool failed = false;
  bool at_boundary = false;
};

Read readIn(std::string_view bytes, std::size_t piece) {
  Record record;
  EventStreamReader reader(record);
  for (std::size_t at = 0; at < bytes.size(); at += piece) reader.feed(bytes.substr(at, piece));
  return {record.log, reader.failed(), reader.atBoundary()};
}

/// The same in any pieces.
Read read(std::string_view bytes) {
  const Read whole = readIn(bytes, bytes.size() + 1);
  for (const std::size_t piece : {1u, 3u, 5u, 16u}) {
    const Read pieces = readIn(bytes, piece);
    EXPECT_EQ(pieces.log, whole.log);
    EXPECT_EQ(pieces.failed, whole.failed);
    EXPECT_EQ(pieces.at_boundary, whole.at_boundary);
  }
  return whole;
}

std::string bytesOf(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

TEST(EventStream, HasTheChecksumOfZlib) {
  EXPECT_EQ(checksumOf("123456789"), 0xcbf43926u);
  EXPECT_EQ(checksumOf(""), 0u);
  const std::string long_text(1'000, 'x');
  for (std::size_t cut = 0; cut < 20; ++cut)
    EXPECT_EQ(checksumOf(long_text.substr(cut), checksumOf(long_text.substr(0, cut))),
              checksumOf(long_text));
}

/// Two of the vectors that AWS's own clients are tested with: an empty message, and one with a
/// header that is a number.
TEST(EventStream, ReadsPublishedVectors) {
  const Read empty = read(bytesOf("000000100000000005c248eb7d98c8ff"));
  EXPECT_EQ(empty.log, "<>");
  EXPECT_TRUE(empty.at_boundary);
  const Read number = read(
      bytesOf("0000002d0000001041c424b80a6576656e742d74797065040000a00c7b27666f6f273a27626172277d36"
              "f480a0"));
  EXPECT_EQ(number.log, "<{'foo':'bar'}>");
}

TEST(EventStream, TellsHeadersAndPayloads) {
  const Read got = read(support::eventMessage({{":event-type", "chunk"}, {"b", ""}}, "{}") +
                        support::eventMessage({}, std::string(1'000, 'p')));
  EXPECT_EQ(got.log, "<:event-type=chunk;b=;{}><" + std::string(1'000, 'p') + ">");
  EXPECT_TRUE(got.at_boundary);
  EXPECT_FALSE(got.failed);
}

TEST(EventStream, PassesOverHeadersOfEveryOtherType) {
  std::string headers;
  const int sizes[] = {0, 0, 1, 2, 4, 8, 2, -1, 8, 16};
  for (int type = 0; type < 10; ++type) {
    if (type == 7) continue;
    headers += std::string("\1h") + static_cast<char>(type);
    if (type == 6) headers += std::string("\0\2", 2);
    headers += std::string(static_cast<std::size_t>(sizes[type]), 'v');
  }
  EXPECT_EQ(read(support::eventMessageOf(headers, "x")).log, "<x>");
}

TEST(EventStream, StopsAtWhatIsBroken) {
  const std::string good = support::eventMessage({{":event-type", "chunk"}}, "{\"a\":1}");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const Read got = read(bad + good);
    EXPECT_TRUE(got.failed) << i;
    EXPECT_EQ(got.log.find('>'), std::string::npos) << i;
  }
  for (const char* headers : {"\1", "\1h", "\1h\x07", "\1h\x0a", "\5h\x07"})
    EXPECT_TRUE(read(support::eventMessageOf(headers, "x")).failed);
  EXPECT_TRUE(read(support::eventMessageOf(std::string("\0\7\0\0", 4), "x")).failed);
  EXPECT_TRUE(read(support::eventMessageOf(std::string("\1h\7\0\2v", 6), "x")).failed);
  EXPECT_FALSE(read(good.substr(0, good.size() - 1)).at_boundary);
  EXPECT_FALSE(read(good.substr(0, 5)).at_boundary);
}

TEST(EventStream, BoundsHeadersAndMessages) {
  const auto headersOf = [](std::size_t size) {
    std::string headers("\1h\x06");
    const std::size_t value = size - 5;
    headers += static_cast<char>(value >> 8);
    headers += static_cast<char>(value & 0xff);
    return headers + std::string(value, 'v');
  };
  EXPECT_FALSE(read(support::eventMessageOf(headersOf(kMaxEventHeaders), "")).failed);
  EXPECT_TRUE(read(support::eventMessageOf(headersOf(kMaxEventHeaders + 1), "")).failed);
  EXPECT_FALSE(readIn(support::eventPrelude(kMaxEventMessage, 0), 12).failed);
  EXPECT_TRUE(readIn(support::eventPrelude(kMaxEventMessage + 1, 0), 12).failed);
  EXPECT_FALSE(readIn(support::eventPrelude(16, 0), 12).failed);
  EXPECT_TRUE(readIn(support::eventPrelude(15, 0), 12).failed);
  EXPECT_TRUE(readIn(support::eventPrelude(20, 5), 12).failed);
}

}  // namespace
}  // namespace warder::models
