#include <gtest/gtest.h>

#include "supervisor/courier/answer.h"

namespace warder::courier {
namespace {

using Do = NextStep::Do;
const std::string kHead(64, 'a');

NextStep after(Ask asked, int status, const std::string& body, const std::string& retry = {}) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = body;
  answer.retry_after = retry;
  return stepAfter(asked, answer, 784111777);
}

TEST(NextStep, ProceedsOnAnAcknowledgement) {
  const auto step =
      after(Ask::Open, 200, R"({"acked_seq":7,"head":")" + kHead + R"(","lease_s":30})");
  EXPECT_EQ(step.what, Do::Proceed);
  EXPECT_EQ(step.acked_seq, 7u);
  EXPECT_EQ(step.head, kHead);
  EXPECT_EQ(step.lease.count(), 30);
  EXPECT_FALSE(step.receipt);
}

TEST(NextStep, BoundsTheLease) {
  const auto lease = [](const std::string& value) {
    return after(Ask::Open, 200,
                 R"({"acked_seq":0,"head":")" + kHead + R"(","lease_s":)" + value + "}")
        .lease.count();
  };
  EXPECT_EQ(lease("0"), 1);
  EXPECT_EQ(lease("1"), 1);
  EXPECT_EQ(lease("86400"), 86'400);
  EXPECT_EQ(lease("86401"), 86'400);
  EXPECT_EQ(lease("-5"), 60);
  EXPECT_EQ(lease("\"x\""), 60);
}

TEST(NextStep, TriesAgainAfterASuccessThatMakesNoSense) {
  for (const Ask asked : {Ask::Open, Ask::Events, Ask::Report})
    for (const std::string body : {"", "<html>502</html>", "[]", "{}", "{\"acked_seq\":1}",
                                   "{\"acked_seq\":-1,\"head\":\"x\"}", "{\"receipt\":7}",
                                   "{\"missing\":{}}", "{\"missing\":{\"blobs\":[7]}}"}) {
      EXPECT_EQ(after(asked, 200, body).what, Do::Retry) << body;
      EXPECT_EQ(after(asked, 202, body).what, Do::Retry) << body;
    }
}

TEST(NextStep, ReadsReceiptsAndWhatIsMissing) {
  const auto receipt = after(Ask::Report, 200, R"({"receipt":{"seq":3}})");
  EXPECT_EQ(receipt.what, Do::Receipt);
  EXPECT_EQ(receipt.receipt->at("seq"), 3);
  const auto missing =
      after(Ask::Report, 202,
            R"({"missing":{"events_from":4,"blobs":[")" + kHead + R"(","../../etc/passwd"]}})");
  EXPECT_EQ(missing.what, Do::Missing);
  EXPECT_EQ(missing.missing_from, 4u);
  EXPECT_EQ(missing.missing_blobs, std::vector<std::string>{kHead});
}

TEST(NextStep, RewindsHalvesReopensAndStops) {
  EXPECT_EQ(after(Ask::Events, 409, R"({"expected":5})").what, Do::Rewind);
  EXPECT_EQ(after(Ask::Events, 409, R"({"expected":5})").acked_seq, 4u);
  EXPECT_EQ(after(Ask::Events, 409, R"({"expected":0})").what, Do::Retry);
  EXPECT_EQ(after(Ask::Events, 409, "{}").what, Do::Retry);
  EXPECT_EQ(after(Ask::Events, 413, "").what, Do::Halve);
  EXPECT_EQ(after(Ask::Blob, 413, "").what, Do::Skip);
  EXPECT_EQ(after(Ask::Report, 413, "").what, Do::Stop);
  EXPECT_EQ(after(Ask::Events, 422, "").what, Do::Stop);
  EXPECT_EQ(after(Ask::Blob, 422, "").what, Do::Skip);
  EXPECT_EQ(after(Ask::Events, 404, "").what, Do::Reopen);
  EXPECT_EQ(after(Ask::Open, 404, "").what, Do::Retry);
  for (const int status : {401, 403, 410}) {
    EXPECT_EQ(after(Ask::Events, status, "").what, Do::Stop) << status;
    EXPECT_EQ(after(Ask::Open, status, "").what, Do::Stop) << status;
  }
}

TEST(NextStep, WaitsOnEverythingElse) {
  for (const int status : {100, 301, 302, 400, 405, 408, 418, 429, 500, 502, 503, 504, 507, 999})
    EXPECT_EQ(after(Ask::Events, status, "<html>").what, Do::Retry) << status;
  EXPECT_EQ(after(Ask::Events, 503, "", "7").wait->count(), 7);
  EXPECT_FALSE(after(Ask::Events, 503, "", "").wait);
}

TEST(NextStep, TellsWhatTheCollectorSaid) {
  const auto step = after(Ask::Events, 401, R"({"sentence":"a token is needed"})");
  EXPECT_EQ(step.sentence, "the collector answered 401: a token is needed");
}

TEST(RetryAfter, IsANumberOrADateAndAtMostAnHour) {
  const std::int64_t now = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parseRetryAfter("0", now)->count(), 0);
  EXPECT_EQ(parseRetryAfter("3600", now)->count(), 3600);
  EXPECT_EQ(parseRetryAfter("3601", now)->count(), 3600);
  EXPECT_EQ(parseRetryAfter("99999999999999999999999", now)->count(), 3600);
  EXPECT_EQ(parseRetryAfter("Sun, 06 Nov 1994 08:49:47 GMT", now)->count(), 10);
  EXPECT_EQ(parseRetryAfter("Sun, 06 Nov 1994 08:49:27 GMT", now)->count(), 0);
  EXPECT_EQ(parseRetryAfter("Sun, 06 Nov 2094 08:49:27 GMT", now)->count(), 3600);
  for (const char* text : {"", "-1", "soon", "1.5", "Sun, 06 Nov 1994 08:49:47 GMT x"})
    EXPECT_FALSE(parseRetryAfter(text, now)) << text;
}

base::Result<HttpAnswer> read(const std::string& bytes, bool to_head = false) {
  AnswerReader reader(to_head);
  std::string buffer;
  for (const char byte : bytes) {
    buffer += byte;
    const auto whole = reader.take(buffer);
    if (!whole) return whole.error();
    if (*whole) return reader.answer();
  }
  if (auto ended = reader.end(); !ended) return ended.error();
  return reader.answer();
}

TEST(AnswerReader, ReadsEveryKindOfBody) {
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")->body, "{}");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")->body,
            "{}");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\n\r\nto the end")->body, "to the end");
  EXPECT_EQ(read("HTTP/1.1 204 No Content\r\n\r\n")->status, 204);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true)->status, 200);
  const auto busy = read("HTTP/1.1 503 x\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(busy->retry_after, "3");
  EXPECT_TRUE(busy->keep_alive);
}

TEST(AnswerReader, StepsOverInterimAnswers) {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(read(interim + interim + "HTTP/1.1 201 x\r\nContent-Length: 0\r\n\r\n")->status, 201);
  EXPECT_FALSE(read("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
}

TEST(AnswerReader, RefusesGarbageAndCutAnswers) {
  for (const char* bytes : {"", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
                            "HTTP/1.1 200 OK\r\n", "SSH-2.0-x\r\n", "HTTP/1.1 20 OK\r\n\r\n"})
    EXPECT_FALSE(read(bytes)) << bytes;
}

TEST(AnswerReader, BoundsTheBody) {
  const auto sized = [](std::size_t size) {
    AnswerReader reader(false);
    std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
                        std::string(size, 'x');
    const auto whole = reader.take(bytes);
    return whole && *whole;
  };
  EXPECT_TRUE(sized(kMaxAnswer));
  EXPECT_FALSE(sized(kMaxAnswer + 1));
}

}  // namespace
}  // namespace warder::courier
