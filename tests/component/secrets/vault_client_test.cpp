// A Vault's wire form, with a real TLS server that speaks it.
#include "secrets/vault_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/support/broker_thread.h"
#include "tests/support/loopback_upstream.h"
#include "tests/support/secret.h"

namespace warder::secrets {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::LoopbackUpstream;
using tests::Peer;

using Token = std::shared_ptr<const vault::SecretBytes>;
using Answered = std::optional<base::Result<SourcedSecret>>;

boost::asio::awaitable<void> ask(std::shared_ptr<const Grant> grant, Token token, Answered* into) {
  base::Result<SourcedSecret> sourced = co_await askVault(grant, token);
  into->emplace(std::move(sourced));
}

Token tokenOf(const std::string& text) {
  return std::make_shared<const vault::SecretBytes>(std::move(*vault::secretOf(text)));
}

std::string saying(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

const std::string kAnswer =
    R"({"request_id":"1","lease_id":"","renewable":false,"lease_duration":0,"data":{"data":{)"
    R"("key":"sk-ant-from-vault","other":"x"},"metadata":{"version":3,"destroyed":false}}})";

class VaultClient : public testing::Test {
 protected:
  std::shared_ptr<const Grant> grantAt(std::uint16_t port) const {
    Grant grant;
    grant.name = "anthropic";
    grant.provider = "anthropic";
    grant.source.kind = GrantSource::Kind::Vault;
    grant.source.vault = {true, "localhost", port, "", ca_.file()};
    grant.source.path = "secret/data/agents/anthropic";
    grant.source.field = "key";
    grant.source.name_space = "team/one";
    return std::make_shared<const Grant>(std::move(grant));
  }
  /// The secret, or why there is none.
  std::string asked(std::uint16_t port) {
    boost::asio::io_context context;
    Answered answered;
    boost::asio::co_spawn(context, ask(grantAt(port), tokenOf("hvs.the-token"), &answered),
                          boost::asio::detached);
    context.run();
    return *answered ? std::string((*answered)->secret.reveal()) : (*answered).error().sentence();
  }
  std::string askedOf(const std::string& answer) {
    LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
      peer.readRequest();
      peer.write(answer);
    });
    return asked(upstream.port());
  }

  tests::TestCa ca_;
};

TEST_F(VaultClient, asks_as_the_api_has_it_and_takes_the_field) {
  std::string head;
  LoopbackUpstream upstream(ca_.issue(), [&](Peer& peer) {
    head = peer.readRequest()->head;
    peer.write(saying("200 OK", kAnswer));
  });
  EXPECT_EQ(asked(upstream.port()), "sk-ant-from-vault");
  EXPECT_THAT(head, testing::StartsWith("GET /v1/secret/data/agents/anthropic HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Vault-Token: hvs.the-token\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Vault-Namespace: team/one\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Vault-Request: true\r\n"));
}

TEST_F(VaultClient, reads_chunks_too) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx", kAnswer.size());
  EXPECT_EQ(askedOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(size) +
                    "\r\n" + kAnswer + "\r\n0\r\n\r\n"),
            "sk-ant-from-vault");
}

TEST_F(VaultClient, names_the_status_and_what_to_do_and_never_the_token) {
  const struct {
    const char* status;
    const char* why;
  } cases[] = {{"403 Forbidden", "answered 403"},
               {"404 Not Found", "MOUNT/data/NAME"},
               {"503 Service Unavailable", "sealed"},
               {"307 Temporary Redirect", "active node"},
               {"500 Internal Server Error", "answered 500"}};
  for (const auto& one : cases) {
    const std::string why = askedOf(saying(one.status, R"({"errors":["hidden-detail"]})"));
    EXPECT_THAT(why, HasSubstr(one.why));
    EXPECT_THAT(why, HasSubstr("secret/data/agents/anthropic"));
    EXPECT_THAT(why, Not(HasSubstr("hidden-detail")));
    EXPECT_THAT(why, Not(HasSubstr("hvs.")));
  }
}

TEST_F(VaultClient, takes_no_answer_that_is_broken_or_without_end) {
  EXPECT_THAT(askedOf(saying("200 OK", "{}")), HasSubstr("no data.data"));
  EXPECT_THAT(askedOf("rubbish\r\n\r\n"), HasSubstr("no HTTP/1.1 answer"));
  EXPECT_THAT(askedOf("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), HasSubstr("early"));
  const std::string fits = kAnswer + std::string(kMostVaultAnswer - kAnswer.size(), ' ');
  EXPECT_EQ(askedOf(saying("200 OK", fits)), "sk-ant-from-vault");
  EXPECT_THAT(askedOf(saying("200 OK", fits + " ")), HasSubstr("more than 1 MiB"));
}

TEST_F(VaultClient, says_that_nobody_is_there_or_that_it_is_somebody_else) {
  EXPECT_THAT(asked(tests::closedPort()), HasSubstr("cannot be asked"));
  tests::TestCa stranger;
  LoopbackUpstream upstream(stranger.issue(), [](Peer& peer) { peer.readRequest(); });
  EXPECT_THAT(asked(upstream.port()), HasSubstr("cannot be asked"));
}

TEST_F(VaultClient, a_secret_is_read_again_from_the_vault_while_the_run_goes_on) {
  std::atomic<int> asked_for{0};
  LoopbackUpstream a_vault(ca_.issue(), [&](Peer& peer) {
    const auto request = peer.readRequest();
    const bool new_token = request->head.find("the-new-token") != std::string::npos;
    if (++asked_for > 1 && !new_token) return void(peer.write(saying("403 Forbidden", "{}")));
    peer.write(saying("200 OK", kAnswer));
  });
  tests::BrokerSetup setup;
  setup.base_url = "https://localhost:1";
  setup.source = grantAt(a_vault.port())->source;
  tests::BrokerThread broker(setup);
  broker.hand("hvs.a-token-of-the-vault\n");  // of a Vault, what is handed over is the token
  EXPECT_EQ(broker.event("broker.secret_renewed").at("grant"), "anthropic");
  broker.hand("hvs.a-token-that-is-over");
  EXPECT_THAT(std::string(broker.event("broker.secret_refused").at("sentence").as_string()),
              HasSubstr("answered 403"));
  broker.hand("hvs.the-new-token");
  broker.hand("short");
  EXPECT_THAT(std::string(broker.event("broker.secret_refused").at("sentence").as_string()),
              HasSubstr("the Vault's token"));
  EXPECT_THAT(broker.allEvents(), Not(HasSubstr("hvs.")));
}

}  // namespace
}  // namespace warder::secrets
