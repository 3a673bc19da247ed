// Sessions of TLS that later connections resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "supervisor/net/dial.h"
#include "supervisor/net/tls_sessions.h"
#include "tests/support/loopback_upstream.h"

namespace warder::net {
namespace {

namespace asio = boost::asio;
using testing::ElementsAre;
using tests::Leaf;
using tests::LoopbackUpstream;
using tests::Peer;

asio::awaitable<void> askOnce(Endpoint endpoint, std::string& answer) {
  DialRules rules{true, std::chrono::milliseconds(10'000)};
  Dialled dialled = co_await dial(std::move(endpoint), rules);
  if (!dialled) {
    answer = dialled.error().sentence;
    co_return;
  }
  const std::string hello = "hello\n";
  const auto failure = co_await (*dialled)->writeAll(asio::buffer(hello));
  char buffer[64];
  while (!failure) {
    const ReadResult read = co_await (*dialled)->readSome(asio::buffer(buffer));
    if (read.failure || read.bytes == 0) break;
    answer.append(buffer, read.bytes);
  }
}

void tellWhetherResumed(Peer& peer) {
  peer.read();
  peer.write(peer.resumed() ? "resumed" : "full");
}

class Resume : public testing::Test {
 protected:
  std::string ask(Endpoint endpoint) {
    std::string answer;
    asio::co_spawn(context_, askOnce(std::move(endpoint), answer), asio::detached);
    context_.run();
    context_.restart();
    return answer;
  }
  Endpoint at(const LoopbackUpstream& upstream, const std::string& host = "localhost") const {
    return Endpoint{true, host, upstream.port(), ca_.file()};
  }

  tests::TestCa ca_;
  asio::io_context context_;
};

TEST_F(Resume, TheSecondConnectionToAHostResumes) {
  LoopbackUpstream upstream(ca_.issue(), tellWhetherResumed);
  std::vector<std::string> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(ask(at(upstream)));
  EXPECT_THAT(answers, ElementsAre("full", "resumed", "resumed"));
}

TEST_F(Resume, AConnectionThatEndedWithoutCloseNotifyIsResumedTooAsHttpEndsThem) {
  LoopbackUpstream upstream(ca_.issue(), [](Peer& peer) {
    tellWhetherResumed(peer);
    peer.cut();
  });
  EXPECT_EQ(ask(at(upstream)), "full");
  EXPECT_EQ(ask(at(upstream)), "resumed");
}

TEST_F(Resume, AnotherNameOrPortIsAnotherPeer) {
  LoopbackUpstream upstream(ca_.issue(), tellWhetherResumed);
  LoopbackUpstream other(ca_.issue(), tellWhetherResumed);
  EXPECT_EQ(ask(at(upstream, "localhost")), "full");
  EXPECT_EQ(ask(at(upstream, "127.0.0.1")), "full");
  EXPECT_EQ(ask(at(other, "localhost")), "full");
  EXPECT_EQ(ask(at(upstream, "127.0.0.1")), "resumed");
}

TEST_F(Resume, OtherRootsBelieveNoSessionOfThese) {
  LoopbackUpstream upstream(ca_.issue(), tellWhetherResumed);
  EXPECT_EQ(ask(at(upstream)), "full");
  Endpoint distrusting = at(upstream);
  distrusting.ca_file.clear();
  EXPECT_THAT(ask(distrusting), testing::HasSubstr("unable to get local issuer certificate"));
}

TEST_F(Resume, AServerThatForgotItsKeysGetsAFullHandshake) {
  LoopbackUpstream upstream(ca_.issue(), tellWhetherResumed);
  EXPECT_EQ(ask(at(upstream)), "full");
  unsigned char keys[80] = {1};
  ASSERT_EQ(SSL_CTX_set_tlsext_ticket_keys(upstream.context(), keys, sizeof keys), 1);
  EXPECT_EQ(ask(at(upstream)), "full");
  EXPECT_EQ(ask(at(upstream)), "resumed");
}

TEST_F(Resume, Tls12IsNotResumedSinceItsKeysWouldBeTheSame) {
  LoopbackUpstream upstream(ca_.issue(), tellWhetherResumed);
  SSL_CTX_set_max_proto_version(upstream.context(), TLS1_2_VERSION);
  EXPECT_EQ(ask(at(upstream)), "full");
  EXPECT_EQ(ask(at(upstream)), "full");
}

}  // namespace
}  // namespace warder::net
