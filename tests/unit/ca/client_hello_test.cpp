// The reader of a TLS client's first message: what passes, what is refused, and where a limit is.
#include "secrets/ca/client_hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace warder::ca {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string number(std::size_t value, int width) {
  std::string bytes;
  for (int shift = 8 * (width - 1); shift >= 0; shift -= 8)
    bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}
std::string sized(const std::string& content, int width) {
  return number(content.size(), width) + content;
}
std::string extension(std::size_t kind, const std::string& content) {
  return number(kind, 2) + sized(content, 2);
}
std::string serverName(const std::string& name) {
  return extension(0, sized(number(0, 1) + sized(name, 2), 2));
}

struct Parts {
  std::string version = "\x03\x03";
  std::string random = std::string(32, 'r');
  std::string session = sized("", 1);
  std::string ciphers = sized("\x13\x01", 2);
  std::string compressions = sized(std::string(1, '\0'), 1);
  std::string extensions = sized(serverName("host.example"), 2);
};

std::string message(const Parts& parts) {
  return number(1, 1) + sized(parts.version + parts.random + parts.session + parts.ciphers +
                                  parts.compressions + parts.extensions,
                              3);
}
std::string record(const std::string& content) {
  return std::string("\x16\x03\x01", 3) + sized(content, 2);
}
std::string hello(const Parts& parts) {
  return record(message(parts));
}
std::string helloWith(const std::string& extensions) {
  Parts parts;
  parts.extensions = sized(extensions, 2);
  return hello(parts);
}
std::string spread(const std::string& text, std::size_t piece) {
  std::string records;
  for (std::size_t at = 0; at < text.size(); at += piece) records += record(text.substr(at, piece));
  return records;
}

void expectBad(const std::string& bytes, const std::string& fault) {
  const auto reading = readClientHello(bytes);
  EXPECT_EQ(reading.verdict, HelloVerdict::Bad) << fault;
  EXPECT_THAT(reading.fault, HasSubstr(fault));
}

TEST(ClientHelloReader, ReadsTheNameTheProtocolsAndAnEncryptedHello) {
  const auto reading = readClientHello(helloWith(
      serverName("Host.Example") + extension(16, sized(sized("h2", 1) + sized("http/1.1", 1), 2)) +
      extension(0xFE0D, "outer")));
  ASSERT_EQ(reading.verdict, HelloVerdict::Hello) << reading.fault;
  EXPECT_TRUE(reading.hello.has_sni);
  EXPECT_EQ(reading.hello.sni, "Host.Example");
  EXPECT_THAT(reading.hello.alpn, ElementsAre("h2", "http/1.1"));
  EXPECT_TRUE(reading.hello.has_ech);
}

TEST(ClientHelloReader, TakesAHelloWithoutExtensions) {
  Parts parts;
  parts.extensions.clear();
  const auto reading = readClientHello(hello(parts));
  ASSERT_EQ(reading.verdict, HelloVerdict::Hello) << reading.fault;
  EXPECT_FALSE(reading.hello.has_sni);
  EXPECT_FALSE(reading.hello.has_ech);
}

TEST(ClientHelloReader, AsksForMoreUntilTheLastByteIsThere) {
  const std::string whole = hello({});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(readClientHello(whole.substr(0, size)).verdict, HelloVerdict::NeedMore) << size;
  EXPECT_EQ(readClientHello(whole).verdict, HelloVerdict::Hello);
  EXPECT_EQ(readClientHello(whole + "whatever follows").verdict, HelloVerdict::Hello);
}

TEST(ClientHelloReader, JoinsAHelloThatIsSpreadOverRecords) {
  for (const std::size_t piece : {2, 3, 4, 5, 50}) {
    const auto reading = readClientHello(spread(message({}), piece));
    EXPECT_EQ(reading.verdict, HelloVerdict::Hello) << piece << reading.fault;
    EXPECT_EQ(reading.hello.sni, "host.example");
  }
}

TEST(ClientHelloReader, ReadsWhatRealProgramsSend) {
  const std::string folder = std::string(WARDER_SOURCE_DIR) + "/tests/fuzz/corpus/ca_client_hello/";
  for (const std::string program : {"openssl", "curl", "node", "go", "python", "java", "wget"}) {
    std::ifstream file(folder + program, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const auto reading = readClientHello(bytes);
    ASSERT_EQ(reading.verdict, HelloVerdict::Hello) << program << reading.fault;
    EXPECT_EQ(reading.hello.sni, "api.example.com") << program;
  }
}

TEST(ClientHelloReader, LeavesWhatIsNotTlsToOthers) {
  EXPECT_EQ(readClientHello("GET / HTTP/1.1\r\n").verdict, HelloVerdict::NotTls);
  EXPECT_EQ(readClientHello("\x16GET").verdict, HelloVerdict::NotTls);
  EXPECT_EQ(readClientHello("SSH-2.0").verdict, HelloVerdict::NotTls);
  // SSLv2: two bytes of length, a client hello, version 3.1.
  EXPECT_EQ(readClientHello(std::string("\x80\x2e\x01\x03\x01", 5)).verdict, HelloVerdict::NotTls);
}

TEST(ClientHelloReader, RefusesRubbishThatBeginsLikeTls) {
  expectBad("\x16\x03\x07", "version of the first record");
  expectBad("\x16\x03\xff", "version of the first record");
  expectBad(std::string("\x16\x03\x01\x00\x00", 5), "empty or too long");
  expectBad(std::string("\x16\x03\x01\x40\x01", 5), "empty or too long");
  expectBad(record(number(2, 1) + number(0, 3)), "no hello");
  expectBad(record(message({}).substr(0, 20)) + std::string("\x15\x03\x01\x00\x02\x02\x28", 7),
            "another record begins");
  expectBad(record(message({}) + "x"), "something follows");
}

TEST(ClientHelloReader, RefusesMoreThanOneServerName) {
  expectBad(helloWith(serverName("one.example") + serverName("two.example")), "twice");
  const std::string one = number(0, 1) + sized("one.example", 2);
  expectBad(helloWith(extension(0, sized(one + one, 2))), "not exactly one");
  expectBad(helloWith(extension(0, sized("", 2))), "not exactly one");
  expectBad(helloWith(extension(0, "")), "list of server names");
  expectBad(helloWith(extension(0, sized(number(1, 1) + sized("x", 2), 2))), "unknown kind");
}

TEST(ClientHelloReader, RefusesNamesThatHoldWhatNoNameHolds) {
  expectBad(helloWith(serverName(std::string("evil.example\0.good.example", 26))), "no name holds");
  expectBad(helloWith(serverName("")), "no name holds");
  expectBad(helloWith(serverName("a b")), "no name holds");
  expectBad(helloWith(serverName("caf\xc3\xa9.example")), "no name holds");
  expectBad(helloWith(serverName(std::string(256, 'a'))), "no name holds");
  EXPECT_EQ(readClientHello(helloWith(serverName(std::string(255, 'a')))).verdict,
            HelloVerdict::Hello);
}

TEST(ClientHelloReader, RefusesListsWhoseLengthsDisagree) {
  expectBad(helloWith(extension(16, sized("", 2))), "list of protocols");
  expectBad(helloWith(extension(16, sized(sized("", 1), 2))), "list of protocols");
  expectBad(helloWith(extension(16, sized("\x09http/1.1", 2))), "list of protocols");
  expectBad(helloWith(number(5, 2) + number(9, 2) + "x"), "longer than what holds it");
  Parts parts;
  parts.extensions += "x";
  expectBad(hello(parts), "disagree");
}

TEST(ClientHelloReader, RefusesAHelloThatNoTlsAllows) {
  Parts parts;
  parts.version = "\x02\x03";
  expectBad(hello(parts), "version is none");
  parts = {};
  parts.session = sized(std::string(33, 's'), 1);
  expectBad(hello(parts), "session's name");
  parts = {};
  parts.ciphers = sized("abc", 2);
  expectBad(hello(parts), "ciphers");
  parts = {};
  parts.ciphers = sized("", 2);
  expectBad(hello(parts), "ciphers");
  parts = {};
  parts.compressions = sized("\x01", 1);
  expectBad(hello(parts), "compression");
  expectBad(record(number(1, 1) + sized("\x03\x03short", 3)), "ends too early");
}

TEST(ClientHelloReader, HoldsItsLimitsOnBothSides) {
  std::string extensions;
  for (std::size_t i = 0; i < kMostHelloExtensions; ++i) extensions += extension(1000 + i, "");
  EXPECT_EQ(readClientHello(helloWith(extensions)).verdict, HelloVerdict::Hello);
  expectBad(helloWith(extensions + extension(5000, "")), "too many extensions");

  const std::size_t around = message({}).size() - Parts{}.extensions.size() + 2 + 4;
  const auto padded = [&](std::size_t size) {
    Parts parts;
    parts.extensions = sized(extension(21, std::string(size - around, '\0')), 2);
    return message(parts);
  };
  ASSERT_EQ(padded(kMostHelloBytes).size(), kMostHelloBytes);
  EXPECT_EQ(readClientHello(spread(padded(kMostHelloBytes), 16'000)).verdict, HelloVerdict::Hello);
  expectBad(spread(padded(kMostHelloBytes + 1), 16'000), "too long");

  Parts parts;
  const std::size_t missing = 2 * kMostHelloRecords - message(parts).size();
  parts.extensions = sized(serverName("host.example" + std::string(missing, 'x')), 2);
  EXPECT_EQ(readClientHello(spread(message(parts), 2)).verdict, HelloVerdict::Hello);
  parts.extensions = sized(serverName("host.example" + std::string(missing + 1, 'x')), 2);
  expectBad(spread(message(parts), 2), "too many records");
}

}  // namespace
}  // namespace warder::ca
