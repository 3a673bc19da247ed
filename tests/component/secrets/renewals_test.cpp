// Secrets that change while requests run with them: between a real client and a real TLS server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "tests/support/broker_thread.h"
#include "tests/support/loopback_upstream.h"

namespace warder::secrets {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::BrokerSetup;
using tests::BrokerThread;
using tests::DoorClient;
using tests::kRealKey;
using tests::LoopbackUpstream;
using tests::Peer;

const std::string kOldKey(kRealKey);

std::string keyNumber(int number) {
  return "sk-ant-api03-RENEWED-RENEWED-" + std::to_string(1000 + number);
}

std::string answer(const std::string& body, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// Passed on at once, since it is whole.
const std::string kEventOfAStream =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    "a\r\ndata: {}\n\n\r\n";

std::string keyIn(const Peer::Request& request) {
  const std::size_t at = request.head.find("x-api-key: ");
  return request.head.substr(at + 11, request.head.find("\r\n", at) - at - 11);
}

class Renewing : public testing::Test {
 protected:
  BrokerSetup setupFor(const LoopbackUpstream& upstream) {
    return BrokerSetup{"https://localhost:" + std::to_string(upstream.port()), ca_.file()};
  }
  /// Answers every request, and remembers the keys that came.
  LoopbackUpstream::Script remembering() {
    return [this](Peer& peer) {
      while (const auto request = peer.readRequest()) {
        {
          const std::lock_guard lock(mutex_);
          keys_.push_back(keyIn(*request));
        }
        peer.write(answer("{}"));
      }
    };
  }
  std::string lastKey() {
    const std::lock_guard lock(mutex_);
    return keys_.empty() ? "" : keys_.back();
  }

  tests::TestCa ca_;
  std::mutex mutex_;
  std::vector<std::string> keys_;
};

TEST_F(Renewing, ANewSecretIsUsedFromThenOnAndAnEventSaysSo) {
  LoopbackUpstream upstream(ca_.issue(), remembering());
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 200);
  EXPECT_EQ(lastKey(), kOldKey);
  broker.hand(keyNumber(1) + "\n");
  const auto event = broker.event("broker.secret_renewed");
  EXPECT_EQ(event.at("grant"), "anthropic");
  EXPECT_EQ(event.at("renewals"), 1);
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 200);
  EXPECT_EQ(lastKey(), keyNumber(1));
  EXPECT_EQ(upstream.accepted(), 2);  // no connection of the old secret is used for the new one
  EXPECT_THAT(broker.allEvents(), Not(HasSubstr("RENEWED")));
}

TEST_F(Renewing, TheSameSecretAgainIsNoNews) {
  LoopbackUpstream upstream(ca_.issue(), remembering());
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 200);
  broker.hand(kOldKey);
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 200);
  EXPECT_EQ(upstream.accepted(), 1);
  EXPECT_THAT(broker.allEvents(), Not(HasSubstr("secret_renewed")));
}

TEST_F(Renewing, WhatCannotBeUsedIsToldAndTheOldSecretStays) {
  LoopbackUpstream upstream(ca_.issue(), remembering());
  BrokerThread broker(setupFor(upstream));
  const struct {
    std::string secret;
    std::string why;
  } cases[] = {{"", "is empty"},
               {"short", "shorter than 8 bytes"},
               {"hidden hidden", "holds a space"},
               {"sk-ant-admin01-hidden", "admin key"}};
  DoorClient client(broker.port());
  for (const auto& one : cases) {
    broker.hand(one.secret);
    const auto event = broker.event("broker.secret_refused");
    EXPECT_EQ(event.at("grant"), "anthropic");
    EXPECT_THAT(
        std::string(event.at("sentence").as_string()),
        testing::AllOf(HasSubstr(one.why), HasSubstr("stays lent"), Not(HasSubstr("hidden"))));
    client.send(broker.request("{}"));
    EXPECT_EQ(client.readAnswer().status, 200);
    EXPECT_EQ(lastKey(), kOldKey);
  }
}

TEST_F(Renewing, ARequestThatRunsKeepsItsSecretAndNeitherComesBack) {
  std::promise<void> renewed;
  auto go_on = renewed.get_future().share();
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    const auto request = peer.readRequest();
    peer.write(kEventOfAStream);
    go_on.wait();
    const std::string key = keyIn(*request);
    peer.write("2f\r\n" + key.substr(0, 47) + "\r\n0\r\n\r\n");
    peer.readRequest();
  });
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  client.readUntil("data: {}");
  broker.hand(keyNumber(1));
  broker.event("broker.secret_renewed");
  renewed.set_value();
  const std::string rest = client.readUntil("\r\n0\r\n\r\n");
  EXPECT_THAT(rest, HasSubstr("sk-ant-api03-"));  // the placeholder's beginning
  EXPECT_THAT(rest, Not(HasSubstr("REALKEY")));
}

TEST_F(Renewing, FiveHundredRequestsSucceedWhileTheSecretIsReplacedAgainAndAgain) {
  // The upstream takes the present key and the one before, as providers do while keys are rotated.
  std::atomic<int> present{0};
  std::atomic<int> wrong{0};
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    while (const auto request = peer.readRequest()) {
      const int now = present;
      const std::string key = keyIn(*request);
      const bool good =
          key == keyNumber(now) || key == keyNumber(now - 1) || (now <= 1 && key == kOldKey);
      if (!good) ++wrong;
      peer.write(answer("{}", good ? "200 OK" : "401 Unauthorized"));
    }
  });
  BrokerThread broker(setupFor(upstream));
  std::atomic<int> succeeded{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back([&] {
      DoorClient client(broker.port());
      for (int request = 0; request < 100; ++request) {
        client.send(broker.request("{\"model\":\"claude-opus-4-5\"}"));
        if (client.readAnswer().status == 200) ++succeeded;
      }
    });
  }
  for (int number = 1; number <= 8; ++number) {
    const int target = number * 50;
    while (succeeded + wrong < target) std::this_thread::yield();
    present = number;
    broker.hand(keyNumber(number));
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(succeeded, 500);
  EXPECT_EQ(wrong, 0);
}

TEST_F(Renewing, ARefusedKeyMakesTheSourceBeAskedAgainAtOnceAndTheAnswerGoesOn) {
  LoopbackUpstream upstream(ca_.issue(), [](Peer& peer) {
    while (peer.readRequest()) peer.write(answer("{\"no\":1}", "401 Unauthorized"));
  });
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  const auto got = client.readAnswer();
  EXPECT_EQ(got.status, 401);
  EXPECT_EQ(got.body, "{\"no\":1}");
  EXPECT_EQ(broker.askedSource(), "anthropic");
  EXPECT_EQ(broker.event("broker.secret_rejected").at("grant"), "anthropic");
  // An agent that makes 401s on purpose does not make us ask without end.
  for (int i = 0; i < 5; ++i) {
    client.send(broker.request("{}"));
    EXPECT_EQ(client.readAnswer().status, 401);
  }
  EXPECT_THAT(broker.allEvents(), Not(HasSubstr("secret_rejected")));
}

TEST_F(Renewing, ARequestThatBeganWithAKeyOfYesterdayGoesOnceMoreWithTheNewOne) {
  std::promise<void> renewed;
  auto go_on = renewed.get_future().share();
  std::promise<void> arrived;
  std::atomic<int> requests{0};
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    while (const auto request = peer.readRequest()) {
      if (++requests == 1) {
        arrived.set_value();
        go_on.wait();
      }
      const bool good = keyIn(*request) == keyNumber(1) && request->body == "{\"a\":1}";
      peer.write(answer("{}", good ? "200 OK" : "401 Unauthorized"));
    }
  });
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{\"a\":1}"));
  arrived.get_future().wait();
  broker.hand(keyNumber(1));
  renewed.set_value();
  EXPECT_EQ(client.readAnswer().status, 200);
  EXPECT_EQ(requests, 2);
  EXPECT_THAT(broker.allEvents(), Not(HasSubstr("secret_rejected")));
}

TEST_F(Renewing, BodiesOverTheLimitOfReplaysGetThe401) {
  for (const bool over : {false, true}) {
    std::promise<void> renewed;
    auto go_on = renewed.get_future().share();
    std::promise<void> arrived;
    std::atomic<int> requests{0};
    LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
      while (const auto request = peer.readRequest()) {
        if (++requests == 1) {
          arrived.set_value();
          go_on.wait();
        }
        peer.write(answer("{}", keyIn(*request) == keyNumber(1) ? "200 OK" : "401 Unauthorized"));
      }
    });
    BrokerThread broker(setupFor(upstream));
    const std::size_t size = BrokerLimits{}.replayed_body + (over ? 1 : 0);
    DoorClient client(broker.port());
    client.send(broker.request("{\"a\":\"" + std::string(size - 8, 'x') + "\"}"));
    arrived.get_future().wait();
    broker.hand(keyNumber(1));
    renewed.set_value();
    EXPECT_EQ(client.readAnswer().status, over ? 401 : 200);
  }
}

TEST_F(Renewing, WhatIsTakenBackEndsTheCallsThatRunAndRefusesTheRest) {
  std::promise<bool> ended;
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    peer.readRequest();
    peer.write(kEventOfAStream);
    ended.set_value(peer.read().empty());
  });
  BrokerThread broker(setupFor(upstream));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  client.readUntil("data: {}");
  broker.with([](secrets::Broker& one) { one.renewals().revokeAll(); });
  EXPECT_TRUE(ended.get_future().get());
  EXPECT_THAT(client.readAll(), Not(HasSubstr("0\r\n\r\n")));
  const auto event = broker.event("broker.revoked");
  EXPECT_EQ(event.at("calls_ended"), 1);
  EXPECT_EQ(broker.event("llm.call").at("ended"), "revoked");
  DoorClient later(broker.port());
  later.send(broker.request("{}"));
  const auto got = later.readAnswer();
  EXPECT_EQ(got.status, 403);
  EXPECT_THAT(got.body, HasSubstr("lent no longer"));
  EXPECT_EQ(upstream.accepted(), 1);
  EXPECT_THAT(broker.allEvents(), Not(HasSubstr("upstream_failed")));  // nobody failed
  broker.hand(keyNumber(1));                                           // nothing brings it back
  DoorClient last(broker.port());
  last.send(broker.request("{}"));
  EXPECT_EQ(last.readAnswer().status, 403);
}

TEST_F(Renewing, ATimeAfterTheAgentsStartEndsTheGrantAndTheAgentIsToldWhy) {
  LoopbackUpstream upstream(ca_.issue(), remembering());
  BrokerSetup setup = setupFor(upstream);
  setup.terms.expires_after = std::chrono::milliseconds(50);
  BrokerThread broker(setup);
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 200);  // the clock has not begun
  broker.with([](secrets::Broker& one) { one.renewals().agentStarted(); });
  EXPECT_EQ(broker.event("broker.grant_expired").at("grant"), "anthropic");
  client.send(broker.request("{}"));
  const auto got = client.readAnswer();
  EXPECT_EQ(got.status, 403);
  EXPECT_THAT(got.body, HasSubstr("expires"));
  EXPECT_EQ(keys_.size(), 1u);
  broker.hand(keyNumber(1));
  DoorClient later(broker.port());
  later.send(broker.request("{}"));
  EXPECT_EQ(later.readAnswer().status, 403);
}

TEST_F(Renewing, APointInTimeEndsTheGrantWhoeverStarted) {
  LoopbackUpstream upstream(ca_.issue(), remembering());
  BrokerSetup setup = setupFor(upstream);
  setup.terms.expires_at = std::chrono::system_clock::now() - std::chrono::seconds(1);
  BrokerThread broker(setup);
  broker.event("broker.grant_expired");
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 403);
  EXPECT_TRUE(keys_.empty());
}

TEST_F(Renewing, AProgramsSecretIsAskedForWhenItsTimeIsNearlyOver) {
  LoopbackUpstream upstream(ca_.issue(), remembering());
  BrokerSetup setup = setupFor(upstream);
  setup.source.kind = GrantSource::Kind::Helper;
  setup.source.refresh = std::chrono::milliseconds(1);
  BrokerThread broker(setup);
  EXPECT_EQ(broker.askedSource(), "anthropic");
  broker.hand("{\"secret\": \"" + keyNumber(1) + "\", \"expires_at\": \"2199-01-01T00:00:00Z\"}");
  broker.event("broker.secret_renewed");
  EXPECT_EQ(broker.askedSource(), "anthropic");
  broker.with([](secrets::Broker& one) {
    one.renewals().failed("anthropic", "the program ended with 3: not logged in");
  });
  EXPECT_THAT(std::string(broker.event("broker.secret_refused").at("sentence").as_string()),
              HasSubstr("not logged in"));
  DoorClient client(broker.port());
  client.send(broker.request("{}"));
  EXPECT_EQ(client.readAnswer().status, 200);
  EXPECT_EQ(lastKey(), keyNumber(1));
}

}  // namespace
}  // namespace warder::secrets
