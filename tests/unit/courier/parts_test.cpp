// The small pure parts of a delivery.
#include <gtest/gtest.h>
#include <unistd.h>

#include <type_traits>

#include "supervisor/courier/batch_queue.h"
#include "supervisor/courier/digest_field.h"
#include "supervisor/courier/retry_schedule.h"
#include "supervisor/courier/sink.h"
#include "supervisor/courier/token.h"
#include "supervisor/journal/digest.h"

namespace warder::courier {
namespace {

using namespace std::chrono_literals;

TEST(RetrySchedule, DoublesFromAQuarterSecondToItsCapWithFullJitter) {
  RetrySchedule retry;
  EXPECT_EQ(retry.next(0.0, std::nullopt), 0ms);
  EXPECT_EQ(retry.next(0.5, std::nullopt), 250ms);
  EXPECT_EQ(retry.next(1.0, std::nullopt), 1000ms);
  for (int i = 0; i < 100; ++i) EXPECT_LE(retry.next(1.0, std::nullopt), 30s);
  EXPECT_EQ(retry.next(1.0, std::nullopt), 30s);
  retry.hurry();
  EXPECT_EQ(retry.next(1.0, std::nullopt), 5s);
  retry.reset();
  EXPECT_EQ(retry.next(1.0, std::nullopt), 250ms);
}

TEST(RetrySchedule, HonoursRetryAfterAsTheLeast) {
  RetrySchedule retry;
  EXPECT_EQ(retry.next(0.5, 7s), 7s);
  for (int i = 0; i < 20; ++i) (void)retry.next(1.0, std::nullopt);
  EXPECT_EQ(retry.next(1.0, 1s), 30s);
}

std::vector<journal::Line> lines(std::initializer_list<std::uint64_t> seqs, std::size_t size = 10) {
  std::vector<journal::Line> made;
  for (const auto seq : seqs)
    made.push_back({seq, std::string(size, static_cast<char>('a' + seq % 26))});
  return made;
}

TEST(BatchQueue, CutsWholeLinesInOrder) {
  BatchQueue queue;
  queue.add(lines({1, 2, 3}));
  const Batch batch = queue.next();
  EXPECT_EQ(batch.first, 1u);
  EXPECT_EQ(batch.last, 3u);
  EXPECT_EQ(batch.body, std::string(10, 'b') + "\n" + std::string(10, 'c') + "\n" +
                            std::string(10, 'd') + "\n");
  EXPECT_EQ(batch.last_hash, journal::sha256Hex(std::string(10, 'd')));
  queue.acked(2);
  EXPECT_EQ(queue.next().first, 3u);
  EXPECT_EQ(queue.bytes(), 11u);
  queue.acked(3);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next().last, 0u);
}

TEST(BatchQueue, FillsABatchToTheLimitAndNotBeyond) {
  BatchQueue exact, over;
  exact.add(lines({1, 2}, BatchQueue::kMaxBody / 2 - 1));
  EXPECT_EQ(exact.next().last, 2u);
  over.add(lines({1, 2}, BatchQueue::kMaxBody / 2));
  EXPECT_EQ(over.next().last, 1u);
}

TEST(BatchQueue, SendsALongLineAlone) {
  BatchQueue queue;
  queue.add(lines({1, 2}, 1 << 20));
  EXPECT_EQ(queue.next().last, 1u);
}

TEST(BatchQueue, HalvesUntilOneLineIsLeft) {
  BatchQueue queue;
  queue.add(lines({1, 2, 3, 4}, 100));
  EXPECT_EQ(queue.next().last, 4u);
  EXPECT_TRUE(queue.halve());
  EXPECT_EQ(queue.next().last, 2u);
  EXPECT_TRUE(queue.halve());
  EXPECT_EQ(queue.next().last, 1u);
  EXPECT_FALSE(queue.halve());
}

TEST(BatchQueue, StopsBeforeAHole) {
  BatchQueue queue;
  queue.add(lines({1, 2, 5}));
  EXPECT_EQ(queue.holeAfter(0), 0u);
  EXPECT_EQ(queue.next().last, 2u);
  queue.acked(2);
  EXPECT_EQ(queue.holeAfter(2), 3u);
}

TEST(Sink, ReadsAddresses) {
  const auto sink = parseSink("https://results.example:8443/warder/", "/ca.pem");
  ASSERT_TRUE(sink);
  EXPECT_TRUE(sink->endpoint.tls);
  EXPECT_EQ(sink->endpoint.host, "results.example");
  EXPECT_EQ(sink->endpoint.port, 8443);
  EXPECT_EQ(sink->endpoint.ca_file, "/ca.pem");
  EXPECT_EQ(sink->authority, "results.example:8443");
  EXPECT_EQ(sink->base_path, "/warder");
  EXPECT_EQ(parseSink("https://results.example", "")->endpoint.port, 443);
  EXPECT_EQ(parseSink("http://localhost", "")->endpoint.port, 80);
  EXPECT_EQ(parseSink("http://[::1]:8480", "")->endpoint.host, "::1");
  EXPECT_EQ(parseSink("http://127.0.0.9:1/", "")->base_path, "");
}

TEST(Sink, KeepsTheTokenOffOpenNetworks) {
  EXPECT_FALSE(parseSink("http://results.example", ""));
  EXPECT_FALSE(parseSink("http://10.0.0.1", ""));
  EXPECT_FALSE(parseSink("http://localhost.example", ""));
}

TEST(Sink, RefusesWhatIsNoAddress) {
  for (const char* url : {"", "results.example", "ftp://h", "https://", "https:///x", "https://h:0",
                          "https://h:99999", "https://u:p@h", "https://h?x=1", "https://h#x",
                          "https://h%00x", "unix:///x", "https://h/a b", "https://h\r\nX: y"})
    EXPECT_FALSE(parseSink(url, "")) << url;
}

base::Result<WipedText> tokenOf(const std::string& text) {
  return readToken(std::move(*base::sealedText("token", text)));
}

TEST(Token, IsOnePrintableLine) {
  EXPECT_EQ(tokenOf("secret\n")->view(), "secret");
  EXPECT_EQ(tokenOf("with space\r\n")->view(), "with space");
  EXPECT_EQ(tokenOf(std::string(4096, 'x'))->view().size(), 4096u);
  EXPECT_FALSE(tokenOf(std::string(4097, 'x')));
  EXPECT_FALSE(tokenOf(std::string(100'000, 'x')));
  for (const char* text : {"", "\n", "a\nb", "a\x01", "caf\xc3\xa9"})
    EXPECT_FALSE(tokenOf(text)) << text;
}

TEST(Token, IsNeverNamedInAnError) {
  const auto refused = tokenOf("very-secret\nx");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sentence().find("very-secret"), std::string::npos);
}

TEST(Token, HasNoWayOut) {
  EXPECT_FALSE(std::is_copy_constructible_v<WipedText>);
  EXPECT_FALSE(std::is_copy_assignable_v<WipedText>);
  EXPECT_FALSE((std::is_convertible_v<WipedText, std::string>));
}

TEST(DigestField, IsWhatTheStandardShows) {
  // RFC 9530, appendix A: {"hello": "world"} and a newline.
  EXPECT_EQ(digestField(journal::sha256Raw("{\"hello\": \"world\"}\n")),
            "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:");
}

}  // namespace
}  // namespace warder::courier
