// Everything that can be wrong with an upstream: the agent gets an answer that a model can read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/broker_thread.h"
#include "tests/support/loopback_upstream.h"
#include "tests/support/own_network.h"

namespace warder::secrets {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::BrokerSetup;
using tests::BrokerThread;
using tests::DoorClient;
using tests::Leaf;
using tests::LoopbackUpstream;
using tests::Peer;

class BrokenUpstream : public testing::Test {
 protected:
  struct Result {
    DoorClient::Answer answer;
    base::json::object event;
    std::string all_events;
  };
  Result ask(const BrokerSetup& setup) {
    BrokerThread broker(setup);
    DoorClient client(broker.port());
    client.send(broker.request("{}"));
    Result result;
    result.answer = client.readAnswer();
    result.event = broker.event("broker.upstream_failed");
    result.all_events = broker.allEvents();
    // The connection is still good.
    client.send("GET /api/hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client.readAnswer().status, 404);
    return result;
  }
  Result askWithLeaf(const Leaf& leaf) {
    LoopbackUpstream upstream(ca_.issue(leaf), [](Peer&) {});
    return ask({"https://localhost:" + std::to_string(upstream.port()), ca_.file()});
  }
  Result askSaying(const std::string& bytes) {
    LoopbackUpstream upstream(ca_.issue(), [&bytes](Peer& peer) {
      peer.readRequest();
      peer.write(bytes);
    });
    return ask({"https://localhost:" + std::to_string(upstream.port()), ca_.file()});
  }
  static void expectReadable(const Result& result, int status, const char* why, const char* text) {
    EXPECT_EQ(result.answer.status, status);
    EXPECT_THAT(result.answer.body,
                AllOf(testing::StartsWith("{\"type\":\"error\",\"error\":{\"type\":\"api_error\","
                                          "\"message\":\"Warder's broker got no usable answer"),
                      HasSubstr(text)));
    EXPECT_EQ(result.event.at("why"), why);
    EXPECT_THAT(std::string(result.event.at("sentence").as_string()), HasSubstr(text));
    EXPECT_THAT(result.answer.body + result.all_events, Not(HasSubstr("REALKEY")));
  }
  tests::TestCa ca_;
};

TEST_F(BrokenUpstream, NobodyListens) {
  const std::string port = std::to_string(tests::closedPort());
  expectReadable(ask({"https://localhost:" + port, ca_.file()}), 502, "refused",
                 "Connection refused");
}

TEST_F(BrokenUpstream, CertificateForAnotherName) {
  expectReadable(askWithLeaf({.names = "DNS:elsewhere.example"}), 502, "tls", "hostname mismatch");
}

TEST_F(BrokenUpstream, CertificateExpired) {
  expectReadable(askWithLeaf({.valid_until_s = -60}), 502, "tls", "certificate has expired");
}

TEST_F(BrokenUpstream, CertificateSelfSigned) {
  expectReadable(askWithLeaf({.self_signed = true}), 502, "tls", "self-signed certificate");
}

TEST_F(BrokenUpstream, Rubbish) {
  expectReadable(askSaying("SSH-2.0-OpenSSH_9.2p1\r\n\r\n"), 502, "protocol", "no HTTP/1.1 answer");
  expectReadable(askSaying("<html>\n"), 502, "protocol", "no HTTP/1.1 answer");
  expectReadable(askSaying("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
                 502, "protocol", "more than one Content-Length");
  expectReadable(askSaying("HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n"), 502, "protocol",
                 "switched protocols");
}

TEST_F(BrokenUpstream, InterimAnswersWithoutEnd) {
  std::string many;
  for (int i = 0; i < 17; ++i) many += "HTTP/1.1 100 Continue\r\n\r\n";
  expectReadable(askSaying(many + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), 502, "protocol",
                 "interim answers without end");
}

TEST_F(BrokenUpstream, ClosesBeforeItAnswers) {
  expectReadable(askSaying(""), 502, "closed", "before it answered");
  expectReadable(askSaying("HTTP/1.1 200 OK\r\nConte"), 502, "closed", "before it answered");
}

TEST_F(BrokenUpstream, SaysNothing) {
  // BC-023: a dead peer does not freeze the agent.
  LoopbackUpstream upstream(ca_.issue(), [](Peer& peer) { peer.waitForClose(); });
  BrokerSetup setup{"https://localhost:" + std::to_string(upstream.port()), ca_.file()};
  setup.limits.upstream_idle = std::chrono::milliseconds(30);
  expectReadable(ask(setup), 504, "timeout", "said nothing for too long before it answered");
}

TEST_F(BrokenUpstream, FallsSilentInTheMiddleAndTheCutIsVisible) {
  LoopbackUpstream upstream(ca_.issue(), [](Peer& peer) {
    peer.readRequest();
    peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n");
    peer.waitForClose();
  });
  BrokerSetup setup{"https://localhost:" + std::to_string(upstream.port()), ca_.file()};
  setup.limits.upstream_idle = std::chrono::milliseconds(30);
  BrokerThread broker(setup);
  std::string all = "HTTP/1.1 504";
  while (all.starts_with("HTTP/1.1 504")) {  // on a busy machine the limit passes before the head
    DoorClient client(broker.port());
    client.send(broker.request("{}", "Connection: close\r\n"));
    all = client.readAll();
  }
  EXPECT_THAT(all, AllOf(HasSubstr("data: a\n\n"), Not(testing::EndsWith("0\r\n\r\n"))));
  EXPECT_EQ(broker.event("broker.upstream_failed").at("why"), "timeout");
  EXPECT_EQ(broker.event("llm.call").at("ended"), "cut");
}

TEST_F(BrokenUpstream, ClosesInTheMiddleAndTheCutIsVisible) {
  const char* const heads[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf.",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf.\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf.X\r\n"};
  for (const char* bytes : heads) {
    LoopbackUpstream upstream(ca_.issue(), [bytes](Peer& peer) {
      peer.readRequest();
      peer.write(bytes);
    });
    BrokerThread broker({"https://localhost:" + std::to_string(upstream.port()), ca_.file()});
    DoorClient client(broker.port());
    client.send(broker.request("{}"));
    EXPECT_EQ(client.readAnswer().status, 0) << bytes;
    EXPECT_NE(broker.event("broker.upstream_failed").at("why"), "");
    EXPECT_EQ(broker.event("llm.call").at("ended"), "cut");
  }
}

TEST_F(BrokenUpstream, CutWithoutCloseNotifyIsNoEndOfABodyThatLastsUntilClose) {
  LoopbackUpstream upstream(ca_.issue(), [](Peer& peer) {
    peer.readRequest();
    peer.write("HTTP/1.1 200 OK\r\n\r\nhalf");
    peer.cut();
  });
  BrokerThread broker({"https://localhost:" + std::to_string(upstream.port()), ca_.file()});
  DoorClient newer(broker.port());
  newer.send(broker.request("{}"));
  EXPECT_EQ(newer.readAnswer().status, 0);
  // HTTP/1.0 knows no chunks: only a reset can tell.
  DoorClient older(broker.port());
  older.send("POST /v1/messages HTTP/1.0\r\nHost: localhost\r\nx-api-key: " + broker.placeholder() +
             "\r\nContent-Length: 2\r\n\r\n{}");
  older.readAll();
  EXPECT_TRUE(older.reset());
}

TEST_F(BrokenUpstream, PrivateAddressThatARuleAllowsOnlyByPattern) {
  // Only a rule that names the host opens a private address (BC-067).
  const auto seen = tests::inOwnNetwork([] {
    const tests::TinyDns dns(tests::TinyDns::Table{{"inside.example", {"127.0.0.1"}}});
    BrokerSetup setup{"https://inside.example:9"};
    setup.rule_host = "*.example";
    BrokerThread broker(setup);
    DoorClient client(broker.port());
    client.send(broker.request("{}"));
    const std::string status = std::to_string(client.readAnswer().status);
    return status + " " + std::string(broker.event("broker.upstream_failed").at("why").as_string());
  });
  if (!seen) GTEST_SKIP() << "user namespaces are not to be had here";
  EXPECT_EQ(*seen, "502 address_denied");
}

TEST_F(BrokenUpstream, NameThatDoesNotExist) {
  const auto seen = tests::inOwnNetwork([] {
    const tests::TinyDns dns(tests::TinyDns::Table{});
    BrokerThread broker({"https://absent.example"});
    DoorClient client(broker.port());
    client.send(broker.request("{}"));
    const std::string body = client.readAnswer().body;
    return std::string(broker.event("broker.upstream_failed").at("why").as_string()) + " " + body;
  });
  if (!seen) GTEST_SKIP() << "user namespaces are not to be had here";
  EXPECT_THAT(*seen, AllOf(testing::StartsWith("dns {"),
                           HasSubstr("the name absent.example could not be resolved")));
}

}  // namespace
}  // namespace warder::secrets
