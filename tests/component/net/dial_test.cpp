// Dialling real sockets on loopback, with certificates of every kind of wrongness.
#include "supervisor/net/dial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/support/loopback_upstream.h"

namespace warder::net {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;
using tests::Leaf;
using tests::LoopbackUpstream;
using tests::Peer;

constexpr DialRules kPrivate{true, std::chrono::milliseconds(10'000)};

asio::awaitable<void> exchange(Endpoint endpoint, DialRules rules, std::string& outcome,
                               std::optional<DialError>& error) {
  Dialled dialled = co_await dial(std::move(endpoint), rules);
  if (!dialled) {
    error = dialled.error();
    co_return;
  }
  Connection& connection = **dialled;
  const std::string hello = "hello\n";
  const auto failure = co_await connection.writeAll(asio::buffer(hello));
  char buffer[64];
  while (!failure) {
    const ReadResult read = co_await connection.readSome(asio::buffer(buffer));
    if (read.failure) outcome += "[" + read.failure.message() + "]";
    if (read.failure || read.bytes == 0) break;
    outcome.append(buffer, read.bytes);
  }
}

struct Attempt {
  std::string answer;
  std::optional<DialError> error;
};

Attempt attempt(Endpoint endpoint, DialRules rules = kPrivate) {
  Attempt result;
  asio::io_context context;
  asio::co_spawn(context, exchange(std::move(endpoint), rules, result.answer, result.error),
                 asio::detached);
  context.run();
  return result;
}

void echoOnce(Peer& peer) {
  peer.write("echo " + peer.read());
}

class DialTls : public testing::Test {
 protected:
  Attempt attemptWith(const Leaf& leaf, const std::string& host, bool trust = true) {
    LoopbackUpstream upstream(ca_.issue(leaf), echoOnce);
    return attempt(Endpoint{true, host, upstream.port(), trust ? ca_.file() : ""});
  }
  tests::TestCa ca_;
};

TEST_F(DialTls, ReachesANameWhoseCertificateIsRight) {
  EXPECT_EQ(attemptWith(Leaf{}, "localhost").answer, "echo hello\n");
}

TEST_F(DialTls, ReachesAnAddressWhoseCertificateNamesIt) {
  EXPECT_EQ(attemptWith(Leaf{}, "127.0.0.1").answer, "echo hello\n");
}

TEST_F(DialTls, RefusesACertificateForAnotherName) {
  const Attempt result = attemptWith(Leaf{.names = "DNS:elsewhere.example"}, "localhost");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->why, DialFailure::Tls);
  EXPECT_THAT(result.error->sentence, HasSubstr("hostname mismatch"));
}

TEST_F(DialTls, RefusesACertificateForAnotherAddress) {
  const Attempt result = attemptWith(Leaf{.names = "IP:127.0.0.2"}, "127.0.0.1");
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->sentence, HasSubstr("IP address mismatch"));
}

TEST_F(DialTls, RefusesAnExpiredCertificate) {
  const Attempt result = attemptWith(Leaf{.valid_until_s = -60}, "localhost");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->why, DialFailure::Tls);
  EXPECT_THAT(result.error->sentence, HasSubstr("certificate has expired"));
}

TEST_F(DialTls, RefusesACertificateThatIsNotValidYet) {
  const Attempt result = attemptWith(Leaf{.valid_from_s = 600}, "localhost");
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->sentence, HasSubstr("not yet valid"));
}

TEST_F(DialTls, RefusesASelfSignedCertificate) {
  const Attempt result = attemptWith(Leaf{.self_signed = true}, "localhost");
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->sentence, HasSubstr("self-signed certificate"));
}

TEST_F(DialTls, RefusesAnAuthorityThatNobodyNamed) {
  const Attempt result = attemptWith(Leaf{}, "localhost", false);
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->sentence, HasSubstr("unable to get local issuer certificate"));
}

TEST_F(DialTls, SaysWhenTheOtherEndSpeaksNoTls) {
  LoopbackUpstream upstream([](Peer& peer) {
    peer.read();
    peer.write("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const Attempt result = attempt(Endpoint{true, "localhost", upstream.port(), ca_.file()});
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->why, DialFailure::Tls);
}

TEST_F(DialTls, SaysWhenTheFileOfRootsCannotBeRead) {
  const Attempt result = attempt(Endpoint{true, "localhost", 1, "/nowhere/ca.pem"});
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->sentence, HasSubstr("cannot read the certificates of /nowhere/ca.pem"));
}

TEST_F(DialTls, GivesUpOnAHandshakeThatIsNeverAnswered) {
  LoopbackUpstream upstream([](Peer& peer) { peer.waitForClose(); });
  const DialRules hurried{true, std::chrono::milliseconds(50)};
  const Attempt result = attempt(Endpoint{true, "127.0.0.1", upstream.port(), ca_.file()}, hurried);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->why, DialFailure::Timeout);
}

TEST_F(DialTls, TellsACutFromAnOrderlyEnd) {
  LoopbackUpstream upstream(ca_.issue(), [](Peer& peer) {
    peer.write(peer.read());
    peer.cut();
  });
  const Attempt result = attempt(Endpoint{true, "localhost", upstream.port(), ca_.file()});
  EXPECT_THAT(result.answer, testing::StartsWith("hello\n["));
}

TEST(DialPlain, TriesTheNextAddressAndReachesOneThatListens) {
  LoopbackUpstream upstream(echoOnce);  // IPv4 only; localhost is ::1 too where IPv6 is on
  EXPECT_EQ(attempt(Endpoint{false, "localhost", upstream.port(), ""}).answer, "echo hello\n");
}

TEST(DialPlain, SaysWhenNobodyListens) {
  const Attempt result = attempt(Endpoint{false, "127.0.0.1", tests::closedPort(), ""});
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->why, DialFailure::Refused);
  EXPECT_THAT(result.error->sentence, HasSubstr("Connection refused"));
}

TEST(DialPlain, RefusesPrivateAddressesUnlessTheyWereNamed) {
  LoopbackUpstream upstream(echoOnce);
  const char* const hosts[] = {"localhost", "127.0.0.1", "::1", "169.254.169.254",
                               "::ffff:127.0.0.1"};
  for (const char* host : hosts) {
    const Attempt result = attempt(Endpoint{false, host, upstream.port(), ""}, DialRules{});
    ASSERT_TRUE(result.error) << host;
    EXPECT_EQ(result.error->why, DialFailure::AddressDenied) << host;
  }
  EXPECT_EQ(upstream.accepted(), 0);
}

}  // namespace
}  // namespace warder::net
