// The framing gate: every way to write a request that two parsers could read differently.
#include "secrets/http/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warder::http {
namespace {

using testing::HasSubstr;

std::string request(const std::string& headers,
                    const std::string& line = "POST /v1/messages HTTP/1.1") {
  return line + "\r\nHost: 127.0.0.1:8080\r\n" + headers + "\r\n";
}

/// The sentence of the refusal, or "" when the head is fine, through scan and parse as in service.
std::string refusalOf(const std::string& bytes) {
  std::size_t position = 0;
  HeadFault fault;
  const HeadScan scan = scanHead(bytes, position, fault);
  if (scan == HeadScan::Bad) return fault.sentence;
  if (scan == HeadScan::NeedMore) return "incomplete";
  const auto head = parseRequestHead(std::string_view(bytes).substr(0, position));
  return head ? "" : head.error().sentence;
}

TEST(FramingGate, AcceptsWhatClientsReallySend) {
  EXPECT_EQ(
      refusalOf(request("Content-Length: 5\r\nx-api-key: k\r\nUser-Agent: claude-cli/2.1\r\n")),
      "");
  EXPECT_EQ(refusalOf(request("transfer-encoding: Chunked\r\n")), "");
  EXPECT_EQ(refusalOf(request("Accept: */*\r\nX-Empty:\r\nX-Tab:\ta\tb\t\r\n")), "");
  EXPECT_EQ(refusalOf(request("", "GET / HTTP/1.0")), "");
  EXPECT_EQ(refusalOf(request("X-Note: gr\xc3\xbc\xc3\x9f dich\r\n")), "");
}

TEST(FramingGate, RefusesEverySmugglingShape) {
  const struct {
    std::string headers;
    std::string sentence;
  } cases[] = {
      {"Transfer-Encoding: gzip\r\n", "other than chunked"},
      {"Transfer-Encoding: chunked, gzip\r\n", "other than chunked"},
      {"Transfer-Encoding: gzip, chunked\r\n", "other than chunked"},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "more than one Transfer"},
      {"Transfer-Encoding: \"chunked\"\r\n", "other than chunked"},
      {"Transfer-Encoding: chunked;q=1\r\n", "other than chunked"},
      {"Transfer-Encoding:\r\n", "other than chunked"},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "side by side"},
      {"Content-Length: 5\r\nTransfer-Encoding: identity\r\n", "side by side"},
      {"Content-Length: 5\r\nContent-Length: 5\r\n", "more than one Content-Length"},
      {"Content-Length: 5\r\nContent-Length: 6\r\n", "more than one Content-Length"},
      {"Content-Length: 5, 5\r\n", "no plain number"},
      {"Content-Length: +5\r\n", "no plain number"},
      {"Content-Length: -1\r\n", "no plain number"},
      {"Content-Length: 0x5\r\n", "no plain number"},
      {"Content-Length: 5 5\r\n", "no plain number"},
      {"Content-Length:\r\n", "no plain number"},
      {"Content-Length: 1234567890123456789\r\n", "no plain number"},
      {"Host: elsewhere.example\r\n", "exactly one Host"},
      {"host: 127.0.0.1:8080\r\n", "exactly one Host"},
      {"X: a\r\n folded\r\n", "folded"},
      {"X: a\r\n\tfolded\r\n", "folded"},
      {"X : a\r\n", "name is not valid"},
      {"Content-Length : 5\r\n", "name is not valid"},
      {"X\tY: a\r\n", "name is not valid"},
      {": a\r\n", "name is not valid"},
      {"(x): a\r\n", "name is not valid"},
      {"X\xc3\xa4: a\r\n", "name is not valid"},
      {"no colon\r\n", "no colon"},
      {std::string("X: a\0b\r\n", 8), "control character"},
      {"X: a\x01\r\n", "control character"},
      {"X: a\x7f\r\n", "control character"},
      {"X: a\nY: b\r\n", "carriage return and line feed"},
      {"X: a\rY: b\r\n", "carriage return and line feed"},
      {"Expect: 200-ok\r\n", "100-continue"},
      {"Expect: 100-continue\r\nExpect: 100-continue\r\n", "100-continue"},
  };
  for (const auto& one : cases)
    EXPECT_THAT(refusalOf(request(one.headers)), HasSubstr(one.sentence)) << one.headers;
}

TEST(FramingGate, RefusesRequestLinesThatAreNotPlain) {
  const char* const lines[] = {"GET  / HTTP/1.1",
                               "GET / HTTP/1.2",
                               "GET / HTTP/2.0",
                               "GET /",
                               "GET / http/1.1",
                               "G(T / HTTP/1.1",
                               "GET",
                               "",
                               "GET /\tHTTP/1.1",
                               " GET / HTTP/1.1 ",
                               "GET / HTTP/1.1 x",
                               "AVERYLONGMETHODNAMETHATNOBODYHASEVER / HTTP/1.1"};
  for (const char* line : lines) {
    const std::string refusal = refusalOf(request("", line));
    // Two spaces leave a space in the target, which parseTarget refuses.
    if (std::string(line) == "GET  / HTTP/1.1") continue;
    EXPECT_NE(refusal, "") << line;
  }
  EXPECT_NE(refusalOf("\r\n" + request("")), "");
  EXPECT_NE(refusalOf("GET / HTTP/1.1\nHost: a\n\n"), "");
  EXPECT_THAT(refusalOf("GET / HTTP/1.1\r\n\r\n"), HasSubstr("exactly one Host"));
  EXPECT_THAT(refusalOf("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), HasSubstr("Host is not valid"));
  EXPECT_THAT(refusalOf("GET / HTTP/1.1\r\nHost:\r\n\r\n"), HasSubstr("Host is not valid"));
  EXPECT_THAT(refusalOf("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"), HasSubstr("Host is not valid"));
}

TEST(FramingGate, KnowsNoTransferEncodingInHttp10) {
  EXPECT_THAT(refusalOf(request("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0")),
              HasSubstr("HTTP/1.0"));
}

TEST(FramingGate, TakesAHeadOf64KiBAndRefusesOneByteMore) {
  const std::string rest = request("X: \r\n");
  const std::string fits = request("X: " + std::string(kMaxHeadBytes - rest.size(), 'a') + "\r\n");
  ASSERT_EQ(fits.size(), kMaxHeadBytes);
  EXPECT_EQ(refusalOf(fits), "");
  const std::string over =
      request("X: " + std::string(kMaxHeadBytes - rest.size() + 1, 'a') + "\r\n");
  EXPECT_THAT(refusalOf(over), HasSubstr("longer than 65536"));
}

TEST(FramingGate, RefusesAnEndlessHeadWithoutWaitingForItsEnd) {
  EXPECT_THAT(refusalOf("GET / HTTP/1.1\r\nX: " + std::string(kMaxHeadBytes, 'a')),
              HasSubstr("longer than 65536"));
}

TEST(FramingGate, TakesTwoHundredHeadersAndRefusesOneMore) {
  std::string headers;  // Host is the first
  for (std::size_t i = 1; i < kMaxHeaders; ++i) headers += "X: a\r\n";
  EXPECT_EQ(refusalOf(request(headers)), "");
  EXPECT_THAT(refusalOf(request(headers + "X: a\r\n")), HasSubstr("more than 200"));
}

TEST(FramingGate, GivesTheSameVerdictByteByByte) {
  const std::string bytes = request("Content-Length: 5\r\n") + "hello";
  std::size_t position = 0;
  HeadFault fault;
  std::size_t fed = 0;
  while (scanHead(std::string_view(bytes).substr(0, fed), position, fault) == HeadScan::NeedMore)
    ++fed;
  EXPECT_EQ(position, bytes.size() - 5);
  EXPECT_EQ(fed, position);
}

TEST(RequestHead, KnowsWhatTheConnectionIsFor) {
  EXPECT_TRUE(parseRequestHead(request(""))->keep_alive);
  EXPECT_FALSE(parseRequestHead(request("Connection: Close\r\n"))->keep_alive);
  EXPECT_FALSE(parseRequestHead(request("Connection: x, close\r\n"))->keep_alive);
  EXPECT_FALSE(
      parseRequestHead(request("Connection: keep-alive\r\n", "GET / HTTP/1.0"))->keep_alive);
  EXPECT_TRUE(parseRequestHead(request("Upgrade: websocket\r\n"))->wants_upgrade);
  EXPECT_TRUE(parseRequestHead(request("Expect: 100-Continue\r\n"))->expects_continue);
  EXPECT_FALSE(
      parseRequestHead(request("Expect: 100-continue\r\n", "POST / HTTP/1.0"))->expects_continue);
}

std::string faultOfResponse(const std::string& bytes) {
  const auto head = parseResponseHead(bytes, false);
  return head ? "" : head.error().sentence;
}

TEST(ResponseHead, ReadsStatusReasonAndFraming) {
  const auto plain = parseResponseHead("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->status, 200);
  EXPECT_EQ(plain->reason, "OK");
  EXPECT_EQ(plain->framing.length, 3u);
  EXPECT_EQ(parseResponseHead("HTTP/1.1 200\r\n\r\n", false)->framing.kind,
            Framing::Kind::UntilClose);
  EXPECT_EQ(
      parseResponseHead("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n", false)->framing.kind,
      Framing::Kind::Chunked);
  EXPECT_EQ(parseResponseHead("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true)->framing.kind,
            Framing::Kind::None);
  for (const char* status : {"204", "304", "100", "103"})
    EXPECT_EQ(
        parseResponseHead("HTTP/1.1 " + std::string(status) + " x\r\n\r\n", false)->framing.kind,
        Framing::Kind::None);
}

TEST(ResponseHead, RefusesRubbish) {
  const char* const rubbish[] = {
      "HTTP/2 200 OK\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      "HTTP/1.1 abc OK\r\n\r\n",
      "HTTP/1.1 099 x\r\n\r\n",
      "HTTP/1.1 600 x\r\n\r\n",
      "SSH-2.0-OpenSSH\r\n\r\n",
      "\r\n",
      "HTTP/1.1 200 O\x01K\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"};
  for (const char* bytes : rubbish) EXPECT_NE(faultOfResponse(bytes), "") << bytes;
}

}  // namespace
}  // namespace warder::http
