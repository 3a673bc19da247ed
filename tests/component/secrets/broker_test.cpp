// The broker between a real client and a real TLS server on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "supervisor/base/wire.h"
#include "tests/support/broker_thread.h"
#include "tests/support/loopback_upstream.h"

namespace warder::secrets {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::BrokerSetup;
using tests::BrokerThread;
using tests::DoorClient;
using tests::kRealKey;
using tests::LoopbackUpstream;
using tests::Peer;

const std::string kKey(kRealKey);
const std::string kAskJson = "{\"ask\":\"json\"}";

std::string answer(const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class Broker : public testing::Test {
 protected:
  std::string urlOf(const LoopbackUpstream& upstream) {
    return "https://localhost:" + std::to_string(upstream.port());
  }
  BrokerSetup setupFor(const LoopbackUpstream& upstream) {
    return BrokerSetup{urlOf(upstream), ca_.file()};
  }
  /// An upstream that answers each request with `bytes`.
  LoopbackUpstream::Script saying(std::string bytes) {
    return [bytes](Peer& peer) {
      while (peer.readRequest()) peer.write(bytes);
    };
  }
  tests::TestCa ca_;
};

TEST_F(Broker, TurnsThePlaceholderIntoTheKey) {
  std::promise<Peer::Request> seen;
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    seen.set_value(*peer.readRequest());
    peer.write(answer(
        "{\"model\":\"claude-opus-4-5\",\"usage\":{\"input_tokens\":100,\"output_tokens\":20}}",
        "request-id: r1\r\n"));
  });
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  const std::string body = "{\"model\":\"claude-opus-4-5\",\"x\":\"" + broker.placeholder() + "\"}";
  client.send(broker.request(
      body, "anthropic-beta: a\r\nAuthorization: Bearer " + broker.placeholder() + "\r\n"));
  const auto got = client.readAnswer();
  EXPECT_EQ(got.status, 200);
  EXPECT_THAT(got.head, HasSubstr("request-id: r1\r\n"));

  const Peer::Request request = seen.get_future().get();
  EXPECT_THAT(request.head,
              testing::StartsWith("POST /v1/messages?beta=true HTTP/1.1\r\nHost: localhost:" +
                                  std::to_string(upstream.port()) + "\r\n"));
  EXPECT_THAT(request.head, AllOf(HasSubstr("\r\nx-api-key: " + kKey + "\r\n\r\n"),
                                  HasSubstr("anthropic-beta: a\r\n"), Not(HasSubstr("Bearer")),
                                  Not(HasSubstr(broker.placeholder()))));
  EXPECT_EQ(request.body, body);  // a placeholder in a body is inert text

  const auto call = broker.event("llm.call");
  EXPECT_EQ(call.at("status"), 200);
  EXPECT_EQ(call.at("model"), "claude-opus-4-5");
  EXPECT_EQ(call.at("input_tokens").to_number<int>(), 100);
  EXPECT_EQ(call.at("output_tokens").to_number<int>(), 20);
  EXPECT_DOUBLE_EQ(call.at("cost_usd").as_double(), (100 * 5.0 + 20 * 25.0) / 1e6);
  EXPECT_EQ(call.at("priced"), true);
  EXPECT_EQ(call.at("ended"), "complete");
  EXPECT_EQ(call.at("request_bytes").to_number<std::size_t>(), body.size());
}

TEST_F(Broker, AnswersRequestAfterRequestOnOneConnection) {
  LoopbackUpstream upstream(ca_.issue(), saying(answer("{}")));
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  const std::string one = broker.request("{}");
  client.send(one + one + one);  // pipelined
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.readAnswer().status, 200);
  client.send(one);
  EXPECT_EQ(client.readAnswer().status, 200);
  EXPECT_EQ(upstream.accepted(), 1);  // a connection that ended well is used again
}

TEST_F(Broker, NeverSendsWhatItRefuses) {
  // BC-028, BC-053: no other path of the provider's host, and 426 at once for a WebSocket.
  LoopbackUpstream upstream(ca_.issue(), saying(answer("{}")));
  BrokerThread broker(setupFor(upstream));
  const std::string host = " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  const std::string key = "x-api-key: " + broker.placeholder() + "\r\n";
  const struct {
    std::string request;
    int status;
  } cases[] = {
      {"HEAD /api/hello" + host + "\r\n", 404},
      {"GET /v1/organizations" + host + key + "\r\n", 404},
      {"POST /v1/messages HTTP/1.1\r\nHost: evil.example\r\n" + key + "\r\n", 421},
      {"GET /v1/messages" + host + key + "\r\n", 403},
      {"POST /v1/../v1/messages" + host + key + "\r\n", 400},
      {"POST http://evil.example/v1/messages" + host + key + "\r\n", 400},
      {"CONNECT evil.example:443" + host + "\r\n", 400},
      {"POST /v1/messages" + host + key + "Transfer-Encoding: gzip\r\n\r\n", 400},
      {"POST /v1/messages" + host + key + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST /v1/messages" + host + key + "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n", 426},
      {"POST /v1/messages" + host + key + "Expect: a-pony\r\n\r\n", 417},
      {"POST /v1/messages" + host + "X: " + std::string(70'000, 'x') + "\r\n\r\n", 431},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"\x16\x03\x01\x02\n", 400},
  };
  for (const auto& one : cases) {
    DoorClient client(broker.port());
    client.send(one.request);
    const std::string head = client.readUntil("\r\n\r\n");
    EXPECT_THAT(head, testing::StartsWith("HTTP/1.1 " + std::to_string(one.status) + " "))
        << one.request.substr(0, 100);
    EXPECT_THAT(head, HasSubstr("application/json"));
  }
  EXPECT_EQ(upstream.accepted(), 0);
  EXPECT_THAT(broker.allEvents(), AllOf(HasSubstr("broker.denied"), HasSubstr("broker.bad_request"),
                                        Not(HasSubstr("REALKEY"))));
}

TEST_F(Broker, KeepsTheConnectionAfterAQuickDenialWithoutABody) {
  LoopbackUpstream upstream(ca_.issue(), saying(answer("{}")));
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send("GET /api/hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.readAnswer().status, 404);
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 200);
}

TEST_F(Broker, DeniesWhatThePolicyDoesNotAllowAndSaysSoInTheProvidersForm) {
  LoopbackUpstream upstream(ca_.issue(), saying(answer("{}")));
  BrokerSetup setup = setupFor(upstream);
  setup.allowed = false;
  BrokerThread broker(setup);
  DoorClient client(broker.port());
  client.send(broker.request(std::string(3'000'000, 'x')));  // still being sent when denied
  const auto got = client.readAnswer();
  EXPECT_EQ(got.status, 403);
  EXPECT_THAT(got.body,
              testing::StartsWith("{\"type\":\"error\",\"error\":{\"type\":\"permission_error\","));
  EXPECT_EQ(broker.event("broker.denied").at("host"), "localhost");
  EXPECT_EQ(upstream.accepted(), 0);
}

TEST_F(Broker, PassesErrorsOfTheProviderOnUntouchedAndOnce) {
  // BC-025.
  const std::string body =
      "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}";
  LoopbackUpstream upstream(ca_.issue(),
                            saying("HTTP/1.1 529 Overloaded\r\nretry-after: 8\r\nX-Odd: 1\r\n"
                                   "Content-Length: " +
                                   std::to_string(body.size()) + "\r\n\r\n" + body));
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  const auto got = client.readAnswer();
  EXPECT_EQ(got.status, 529);
  EXPECT_THAT(got.head, AllOf(HasSubstr("HTTP/1.1 529 Overloaded\r\n"),
                              HasSubstr("retry-after: 8\r\n"), HasSubstr("X-Odd: 1\r\n")));
  EXPECT_EQ(got.body, body);
  EXPECT_EQ(upstream.accepted(), 1);
  const auto call = broker.event("llm.call");
  EXPECT_EQ(call.at("status"), 529);
  EXPECT_EQ(call.at("error"), "overloaded_error");
}

TEST_F(Broker, PassesEachServerSentEventOnBeforeTheNextIsSent) {
  // BC-002: the upstream sends event n+1 only after the client has said that it holds event n.
  constexpr int kEvents = 20;
  std::promise<void> acknowledged[kEvents];
  const auto event = [](int n) {
    return "event: content_block_delta\ndata: {\"n\":" + std::to_string(n) + "}\n\n";
  };
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    peer.readRequest();
    peer.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    for (int n = 0; n < kEvents; ++n) {
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", event(n).size());
      peer.write(size + event(n) + "\r\n");
      acknowledged[n].get_future().wait();
    }
    peer.write("0\r\nX-Trailer: dropped\r\n\r\n");
  });
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  EXPECT_THAT(client.readUntil("\r\n\r\n"), HasSubstr("text/event-stream; charset=utf-8\r\n"));
  for (int n = 0; n < kEvents; ++n) {
    EXPECT_THAT(client.readUntil("}\n\n\r\n"), HasSubstr(event(n)));
    acknowledged[n].set_value();
  }
  EXPECT_EQ(client.readUntil("\r\n\r\n"), "0\r\n\r\n");
  EXPECT_EQ(broker.event("llm.call").at("streamed"), true);
}

TEST_F(Broker, TakesASecretThatTheUpstreamEchoesOutOfHeadsAndBodies) {
  const std::string body = "{\"you\":\"" + kKey + "\",\"again\":\"" + kKey + "\"}";
  const std::string events = "event: x\ndata: " + kKey + "\n\ndata: unfinished " + kKey;
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    const auto request = peer.readRequest();
    if (request->body == kAskJson) {
      peer.write("HTTP/1.1 200 " + kKey + "\r\nX-Echo: a " + kKey +
                 " b\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
      for (const char byte : body) peer.write({&byte, 1});
    } else {
      peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
      for (const char byte : events) peer.write({&byte, 1});
    }
  });
  BrokerThread broker(setupFor(upstream));
  const std::string replaced = broker.placeholder().substr(0, kKey.size());
  DoorClient json(broker.port());
  json.send(broker.request(kAskJson));
  const auto got = json.readAnswer();
  EXPECT_EQ(got.status, 200);
  EXPECT_THAT(got.head,
              AllOf(HasSubstr("X-Echo: a " + replaced + " b"), Not(HasSubstr("REALKEY"))));
  EXPECT_EQ(got.body, "{\"you\":\"" + replaced + "\",\"again\":\"" + replaced + "\"}");
  EXPECT_EQ(broker.event("llm.call").at("scrubbed").to_number<int>(), 2);

  DoorClient stream(broker.port());
  stream.send(broker.request("{\"ask\":\"stream\"}"));
  EXPECT_EQ(stream.readAnswer().body,
            "event: x\ndata: " + replaced + "\n\ndata: unfinished " + replaced);
  EXPECT_THAT(broker.allEvents(), Not(HasSubstr("REALKEY")));
}

/// As a JSON text may spell it.
std::string jsonEscaped(std::string_view text, const char* form) {
  std::string out;
  for (const char c : text) {
    char spelled[8];
    std::snprintf(spelled, sizeof spelled, form, static_cast<unsigned>(c));
    out += c == '-' || c == 'R' ? std::string(spelled) : std::string(1, c);
  }
  return out;
}

TEST_F(Broker, TakesASecretThatIsEchoedWithEscapesOutOfEventsAndAnswers) {
  // BC-031: a reader that decodes JSON, the broker's own meter first, must not find it.
  const std::string echoes[] = {jsonEscaped(kKey, "\\u%04x"), jsonEscaped(kKey, "\\u%04X"),
                                jsonEscaped(kKey, "\\\\u%04x"), "%73" + kKey.substr(1)};
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    while (const auto request = peer.readRequest()) {
      const std::string& echo = echoes[request->body[9] - '0'];
      const std::string document = "{\"type\":\"error\",\"model\":\"" + echo +
                                   "\",\"error\":{\"type\":\"" + echo + "\",\"message\":\"no " +
                                   echo + "\"}}";
      const std::string events = "event: message_start\ndata: {\"message\":{\"model\":\"" + echo +
                                 "\"}}\n\nevent: error\ndata: " + document + "\n\n";
      const bool streamed = request->body[8] == 's';  // {"ask":"s0"}
      const std::string& body = streamed ? events : document;
      peer.write("HTTP/1.1 " + std::string(streamed ? "200 OK" : "400 Bad Request") +
                 "\r\nContent-Type: " + (streamed ? "text/event-stream" : "application/json") +
                 "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
      for (std::size_t at = 0; at < body.size(); at += 7) peer.write(body.substr(at, 7));
    }
  });
  BrokerThread broker(setupFor(upstream));
  const std::string replaced = broker.placeholder().substr(0, kKey.size());
  for (const std::string kind : {"j", "s"}) {
    for (const int form : {0, 1, 2, 3}) {
      DoorClient client(broker.port());
      client.send(broker.request("{\"ask\":\"" + std::string(kind) + std::to_string(form) + "\"}"));
      const auto got = client.readAnswer();
      const auto call = broker.event("llm.call");
      EXPECT_THAT(base::json::serialize(call),
                  AllOf(Not(HasSubstr("EALKEY")), Not(HasSubstr("0123456789"))))
          << kind << form;
      if (form < 2) {
        EXPECT_EQ(std::string(call.at("model").as_string()), replaced) << kind << form;
        EXPECT_EQ(std::string(call.at("error").as_string()), replaced) << kind << form;
      }
      if (form == 2) continue;  // what JSON reads as plain text is not decoded for the agent
      EXPECT_THAT(got.body, Not(HasSubstr("EALKEY"))) << kind << form;
      EXPECT_TRUE(kind == "s" || base::parseJson(got.body)) << got.body;
    }
  }
}

TEST_F(Broker, TellsAFloodOfRefusalsInFewEventsAndLosesCountOfNone) {
  LoopbackUpstream upstream(ca_.issue(), saying(answer("{}")));
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  for (int i = 0; i < 60; ++i) {
    client.send("GET /api/hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client.readAnswer().status, 404);
  }
  std::size_t told = 0;
  for (std::size_t counted = 0; counted < 60; ++told) {  // the last comes when its second is over
    const auto denied = broker.event("broker.denied");
    const auto* suppressed = denied.if_contains("suppressed");
    counted += 1 + (suppressed != nullptr ? suppressed->to_number<std::size_t>() : 0);
    EXPECT_LE(counted, 60u);
  }
  EXPECT_GE(told, 21u);
}

TEST_F(Broker, RefusesAnEncodedAnswerBecauseItCouldNotBeScrubbed) {
  // BC-011, BC-055: the agent never gets a body that its head does not describe.
  LoopbackUpstream upstream(ca_.issue(), saying(answer("\x1f\x8b", "Content-Encoding: gzip\r\n")));
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 502);
  EXPECT_EQ(broker.event("broker.upstream_failed").at("why"), "protocol");
}

}  // namespace
}  // namespace warder::secrets
