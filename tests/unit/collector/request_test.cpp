#include "collector/request.h"

#include <gtest/gtest.h>

#include "collector/answer.h"
#include "collector/server.h"

namespace warder::collector {
namespace {

base::Result<bool> take(std::string bytes) {
  HeadReader reader;
  return reader.take(bytes);
}

TEST(RequestHead, IsReadInPiecesAndLeavesTheBody) {
  const std::string all =
      "POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nAuthorization: Bearer t\r\n"
      "Expect: 100-continue\r\n\r\nabcGET";
  HeadReader reader;
  std::string bytes;
  bool whole = false;
  for (const char byte : all) {
    bytes += byte;
    if (whole) continue;
    const auto taken = reader.take(bytes);
    ASSERT_TRUE(taken) << taken.error().sentence();
    whole = *taken;
  }
  ASSERT_TRUE(whole);
  EXPECT_EQ(bytes, "abcGET");
  const Request request = reader.request();
  EXPECT_EQ(request.method, Method::Post);
  EXPECT_EQ(request.target, "/v1/x");
  EXPECT_EQ(request.content_length, 3u);
  EXPECT_TRUE(request.expects_continue);
  EXPECT_TRUE(request.keep_alive);
}

TEST(RequestHead, RefusesWhatTwoServersCouldReadDifferently) {
  const std::string line = "POST / HTTP/1.1\r\n";
  EXPECT_TRUE(*take(line + "Host: a\r\n\r\n"));
  for (const std::string& head :
       {line + "\r\n", line + "Host: a\r\nHost: b\r\n\r\n",
        line + "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        line + "Host: a\r\nTransfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\n",
        line + "Host: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        line + "Host: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        line + "Host: a\r\nContent-Length: -1\r\n\r\n", line + "Host : a\r\n\r\n",
        std::string("POST / HTTP/1.0\r\nHost: a\r\n\r\n"), std::string("GET /\r\n\r\n"),
        std::string("GET / HTTP/1.1\nHost: a\n\n"),
        std::string("\x16\x03\x01\x02\x00garbage\r\n\r\n")})
    EXPECT_FALSE(take(head)) << head;
}

TEST(RequestHead, IsBounded) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const std::string end = "\r\n\r\n";
  const std::size_t room = kMaxHead - start.size() - end.size();
  EXPECT_TRUE(*take(start + std::string(room, 'x') + end));
  EXPECT_FALSE(take(start + std::string(room + 1, 'x') + end));
  EXPECT_FALSE(take(start + std::string(10 * kMaxHead, 'x')));
  const auto tooLarge = [](std::string bytes) {
    HeadReader reader;
    (void)reader.take(bytes);
    return reader.tooLarge();
  };
  EXPECT_FALSE(tooLarge(start + std::string(room, 'x') + end));
  EXPECT_TRUE(tooLarge(start + std::string(room + 1, 'x') + end));
  EXPECT_TRUE(tooLarge(start + std::string(10 * kMaxHead, 'x')));
  EXPECT_FALSE(tooLarge("GET\r\n\r\n")) << "malformed is another fault";
}

TEST(Range, IsReadAgainstTheSize) {
  const auto range = [](const char* text, std::uint64_t size) {
    const auto read = parseRange(text, size);
    return read ? std::make_pair(read->first, read->length)
                : std::make_pair(std::uint64_t(99), std::uint64_t(99));
  };
  using P = std::pair<std::uint64_t, std::uint64_t>;
  const P whole(99, 99);
  EXPECT_EQ(range("bytes=0-4", 10), P(0, 5));
  EXPECT_EQ(range("bytes=8-99", 10), P(8, 2));
  EXPECT_EQ(range("bytes=3-", 10), P(3, 7));
  EXPECT_EQ(range("bytes=-4", 10), P(6, 4));
  EXPECT_EQ(range("bytes=-40", 10), P(0, 10));
  EXPECT_EQ(range("bytes=10-", 10).second, 0u);
  EXPECT_EQ(range("bytes=9-9", 10), P(9, 1));
  for (const char* text : {"", "bytes=", "bytes=-", "bytes=a-b", "bytes=4-2", "bytes=0-1,3-4",
                           "lines=0-1", "bytes=+1-2"})
    EXPECT_EQ(range(text, 10), whole) << text;
}

TEST(AnswerHead, CarriesTheHeadersOfEveryAnswer) {
  const std::string head = headOf(errorAnswer(404, "not_found", "no"));
  EXPECT_TRUE(head.starts_with("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_NE(head.find("X-Content-Type-Options: nosniff\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(AttachmentName, HoldsNothingThatAHeaderOrAFolderCouldRead) {
  EXPECT_EQ(attachmentName("out/report.pdf"), "report.pdf");
  EXPECT_EQ(attachmentName("a\"b\r\nX: y"), "a_b__X__y");
  EXPECT_EQ(attachmentName("../../.bashrc"), "file.bashrc");
  EXPECT_EQ(attachmentName("out/"), "file");
  EXPECT_EQ(attachmentName(std::string(500, 'x')).size(), 128u);
}

TEST(ListenRules, ReadAddresses) {
  EXPECT_EQ(parseListen("127.0.0.1:8480")->port, 8480);
  EXPECT_EQ(parseListen("[::1]:0")->host, "::1");
  EXPECT_EQ(parseListen(":8480")->host, "127.0.0.1");
  for (const char* text : {"", "8480", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80",
                           "example.org:80", "[127.0.0.1]:80", "127.0.0.1:08"})
    EXPECT_FALSE(parseListen(text)) << text;
}

TEST(ListenRules, AskForTlsAndAReadTokenBeyondLoopback) {
  ServeOptions options;
  const ListenAddress here{"127.0.0.1", 80}, everywhere{"0.0.0.0", 80};
  EXPECT_EQ(faultOf(options, here), "");
  EXPECT_NE(faultOf(options, everywhere).find("--tls-cert"), std::string::npos);
  options.tls_cert = "cert";
  EXPECT_NE(faultOf(options, here), "") << "a certificate without a key";
  options.tls_key = "key";
  EXPECT_NE(faultOf(options, everywhere).find("--read-token-file"), std::string::npos);
  options.read_token_file = "token";
  EXPECT_EQ(faultOf(options, everywhere), "");
  ServeOptions insecure;
  insecure.insecure = true;
  EXPECT_EQ(faultOf(insecure, everywhere), "");
}

TEST(ListenRules, ReadTheLease) {
  EXPECT_EQ(parseLease("60")->count(), 60);
  EXPECT_EQ(parseLease("2m")->count(), 120);
  EXPECT_EQ(parseLease("1")->count(), 1);
  EXPECT_EQ(parseLease("24h")->count(), 86'400);
  for (const char* text : {"", "0", "0s", "999ms", "86401", "25h", "-1", "x"})
    EXPECT_FALSE(parseLease(text)) << text;
}

}  // namespace
}  // namespace warder::collector
