#include "secrets/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secrets/answers.h"
#include "secrets/grant_plan.h"
#include "secrets/outgoing.h"
#include "supervisor/base/fd.h"

namespace warder::secrets {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A secret of the test's, read as the broker reads it.
Leases leasesOf(const Grant& grant, std::string_view text) {
  const auto fd = base::sealedText("secret", std::string(text));
  const auto secret = vault::SecretBytes::read(fd->get(), grant.name);
  return *makeLeases(grant, *secret);
}

constexpr std::string_view kKey = "sk-ant-api03-REALKEY-REALKEY-REALKEY-0123456789";

class Decide : public testing::Test {
 protected:
  Decide() {
    rules_.policy.allow.push_back(
        {"api.anthropic.com", 443, {"POST"}, {"/v1/**"}, "claude-code:4"});
    rules_.providers = *models::allProviders();
    grant_ = planGrants({{"key", "anthropic", "", ""}})->at(0);
    rules_.leases = leasesOf(grant_, kKey);
    door_ = rules_.leases[0];
    to_ = door_->to;
  }

  /// At the door of the lease's own; `door_` null: at a door where the agent named `to_`.
  Verdict decided(const std::string& line, const std::string& headers) {
    const std::string host = door_ ? "127.0.0.1" : authorityOf(to_);
    const auto head =
        http::parseRequestHead(line + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n");
    head_ = *head;
    target_ = *http::parseTarget(head_.target);
    verdict_ = decide({rules_, door_, to_, head_, target_});
    return verdict_;
  }
  int statusOf(const std::string& line, const std::string& headers) {
    const Verdict verdict = decided(line, headers);
    return verdict.refusal ? verdict.refusal->status : 0;
  }
  std::string whyOf(const std::string& line, const std::string& headers) {
    const Verdict verdict = decided(line, headers);
    return verdict.refusal ? verdict.refusal->why : "";
  }
  std::string headFor(const std::string& headers) {
    decided("POST /v1/messages?beta=true", headers);
    const Outgoing request = outgoing({rules_, door_, to_, head_, target_}, verdict_);
    return requestLineStart(request) + restOfHead(request);
  }
  void openDoorFor(const std::string& host) {
    door_ = nullptr;
    to_ = Upstream{true, host, 443, "", ""};
  }
  const std::string& placeholder() const { return grant_.placeholder; }
  std::string key() const { return "x-api-key: " + placeholder() + "\r\n"; }

  Rules rules_;
  Grant grant_;
  std::shared_ptr<Lease> door_;
  Upstream to_;
  http::RequestHead head_;
  http::Target target_;
  Verdict verdict_;
};

TEST_F(Decide, LetsTheProvidersRoutesThrough) {
  for (const std::string line :
       {"POST /v1/messages", "POST /v1/messages?beta=true", "POST /v1/messages/count_tokens"}) {
    EXPECT_EQ(whyOf(line, key()), "");
    EXPECT_EQ(verdict_.lease, door_);
  }
}

TEST_F(Decide, AnswersUnknownPathsWithAQuick404AndWrongMethodsWith403) {
  // BC-028: the key goes to listed methods and paths only.
  EXPECT_EQ(statusOf("HEAD /api/hello", key()), 404);
  EXPECT_EQ(statusOf("POST /v1/messages/", key()), 404);
  EXPECT_EQ(statusOf("POST /v1/messagesX", key()), 404);
  EXPECT_EQ(statusOf("POST /V1/messages", key()), 404);
  EXPECT_EQ(statusOf("POST /v1/files", key()), 404);
  EXPECT_EQ(statusOf("GET /v1/messages", key()), 403);
  EXPECT_EQ(statusOf("post /v1/messages", key()), 403);
}

TEST_F(Decide, LendsTheKeyWhateverCredentialIsShown) {
  // BC-103: a bound route always gets the key. BC-029: a credential of the agent's own is removed
  // and told.
  struct Shown {
    std::string headers;
    bool foreign;
  };
  const std::string other = planGrants({{"b", "anthropic", "", ""}})->at(0).placeholder;
  for (const auto& [headers, foreign] :
       std::vector<Shown>{{"", false},
                          {key(), false},
                          {"Authorization: Bearer " + placeholder() + "\r\n", false},
                          {"authorization: bearer " + placeholder() + "\r\n", false},
                          {key() + "Cookie: a=b\r\n", false},
                          {"x-api-key: " + other + "\r\n", true},
                          {"x-api-key: sk-ant-api03-own\r\n", true},
                          {key() + "Authorization: Bearer other\r\n", true},
                          {"authorization: Basic x\r\n" + key(), true},
                          {key() + "X-Api-Key: sk-ant-api03-own\r\n", true}}) {
    EXPECT_EQ(whyOf("POST /v1/messages", headers), "") << headers;
    EXPECT_EQ(verdict_.lease, door_) << headers;
    EXPECT_EQ(verdict_.foreign_credential, foreign) << headers;
  }
}

TEST_F(Decide, LendsInANetworkThatOthersShareOnlyToWhoShowsThePlaceholder) {
  // BC-104: any process that reaches the door could spend the key.
  rules_.shared_network = true;
  EXPECT_EQ(whyOf("POST /v1/messages", ""), "credential");
  EXPECT_EQ(whyOf("POST /v1/messages", "x-api-key: sk-ant-api03-own\r\n"), "credential");
  EXPECT_EQ(whyOf("POST /v1/messages", "Cookie: k=" + placeholder() + "\r\n"), "credential");
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "");
  EXPECT_EQ(whyOf("POST /v1/messages", "Authorization: Bearer " + placeholder() + "\r\n"), "");
}

TEST_F(Decide, TakesTheHostFieldAtItsWordOnlyWhereItAgrees) {
  // BC-065 and domain fronting: the name that was dialled, and Host, must be one.
  openDoorFor("api.anthropic.com");
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "");
  for (const std::string host :
       {"evil.example", "api.anthropic.com:8443", "api.anthropic.com.evil.example", "anthropic.com",
        "xapi.anthropic.com"}) {
    const auto head =
        http::parseRequestHead("POST /v1/messages HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    const http::Target target{"/v1/messages", ""};
    const Verdict verdict = decide({rules_, nullptr, to_, *head, target});
    ASSERT_TRUE(verdict.refusal) << host;
    EXPECT_EQ(verdict.refusal->status, 421) << host;
    EXPECT_EQ(verdict.refusal->why, "host_mismatch") << host;
  }
  for (const std::string host :
       {"API.anthropic.com", "api.anthropic.com:443", "api.anthropic.com."}) {
    const auto head =
        http::parseRequestHead("POST /v1/messages HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    const http::Target target{"/v1/messages", ""};
    EXPECT_FALSE(decide({rules_, nullptr, to_, *head, target}).refusal) << host;
  }
}

TEST_F(Decide, ReportsAPlaceholderOnItsWayElsewhere) {
  // BC-103: to a host where it is not lent it is never replaced, and it is reported.
  rules_.policy.allow.push_back({"evil.example", 443, {}, {}, "job.yaml:7"});
  openDoorFor("evil.example");
  EXPECT_EQ(whyOf("POST /x", ""), "");
  EXPECT_FALSE(verdict_.lease);
  const std::string basic = "Authorization: Basic dXNlcjpz\r\n";  // user:s, and nothing of ours
  EXPECT_EQ(whyOf("POST /x", basic), "");
  for (const std::string& headers :
       {key(), "X-Anything: a" + placeholder() + "b\r\n", "Cookie: k=" + placeholder() + "\r\n"}) {
    EXPECT_EQ(whyOf("POST /x", headers), "placeholder_elsewhere") << headers;
    EXPECT_EQ(verdict_.incident, "key");
  }
  EXPECT_EQ(whyOf("GET /x?k=" + placeholder(), ""), "placeholder_elsewhere");
  EXPECT_EQ(whyOf("GET /" + placeholder(), ""), "placeholder_elsewhere");
}

TEST_F(Decide, KeepsCredentialEndpointsShutUnlessARuleNamesThemExactly) {
  openDoorFor("api.anthropic.com");
  rules_.policy.allow[0].methods.clear();
  EXPECT_EQ(whyOf("GET /v1/organizations/api_keys", ""), "credential_endpoint");
  EXPECT_EQ(whyOf("POST /v1/oauth/token", ""), "credential_endpoint");
  rules_.policy.allow.push_back(
      {"api.anthropic.com", 443, {}, {"/v1/organizations/api_keys"}, "job.yaml:8"});
  EXPECT_EQ(whyOf("GET /v1/organizations/api_keys", ""), "");
  EXPECT_FALSE(verdict_.lease);  // no route: nothing is lent for it
  EXPECT_EQ(whyOf("GET /v1/organizations/users", ""), "credential_endpoint");
}

TEST_F(Decide, LendsOnlyForWhatTheJobLetsThrough) {
  grant_.terms.allow = {{{"POST"}, {"/v1/messages/count_tokens"}}};
  rules_.leases = leasesOf(grant_, kKey);
  door_ = rules_.leases[0];
  EXPECT_EQ(whyOf("POST /v1/messages/count_tokens", key()), "");
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "route");
  EXPECT_EQ(verdict_.refusal->status, 403U);
  EXPECT_THAT(verdict_.refusal->sentence, testing::HasSubstr("POST /v1/messages/count_tokens"));
}

TEST_F(Decide, LendsNoLongerWhatWasTakenBack) {
  door_->revoked = true;
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "revoked");
}

TEST_F(Decide, AsksForPlainHttpByARuleOfItsOwn) {
  openDoorFor("api.anthropic.com");
  to_.tls = false;
  EXPECT_EQ(whyOf("POST /v1/messages", ""), "policy");
}

TEST_F(Decide, RemovesWhatCouldMakeAServerSeeAnotherRequest) {
  // BC-029: some gateways read a name with underscores as the one with dashes.
  const std::string head =
      headFor(key() +
              "x_api_key: a\r\nTransfer_Encoding: chunked\r\nContent_Length: 9\r\nX_Y: 1\r\n"
              "X-Original-URL: /a\r\nx-rewrite-url: /a\r\nX-HTTP-Method-Override: GET\r\n"
              "X-Http-Method: GET\r\nX-Method-Override: GET\r\nForwarded: for=1\r\n"
              "X-Forwarded-Host: a\r\nX-Forwarded-For: 1\r\nX-Forwarded-Prefix: /a\r\n"
              "x-forward: kept\r\nx-app: cli\r\n");
  EXPECT_EQ(head,
            "POST /v1/messages?beta=true HTTP/1.1\r\nHost: api.anthropic.com\r\n"
            "x-forward: kept\r\nx-app: cli\r\n"
            "Accept-Encoding: identity\r\n");
}

TEST_F(Decide, AsksThePolicyForWhatWillBeDialled) {
  policies::Policy& policy = rules_.policy;
  policy.allow[0].port = 8443;
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "policy");
  policy.allow[0].port = 443;
  policy.deny.push_back({"api.anthropic.com", 443, {}, {"/v1/messages"}, "job.yaml:9"});
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "policy");
  EXPECT_EQ(verdict_.refusal->rule, "job.yaml:9");
  EXPECT_EQ(whyOf("POST /v1/messages/count_tokens", key()), "");
  policy = {};
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "policy");
}

TEST_F(Decide, DecidesOnThePathThatTheUpstreamSees) {
  door_->to.base_path = "/prefix";
  to_ = door_->to;
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "policy");
  rules_.policy.allow[0].paths = {"/prefix/v1/messages"};
  EXPECT_EQ(whyOf("POST /v1/messages", key()), "");
  EXPECT_THAT(headFor(key()), HasSubstr("POST /prefix/v1/messages?beta=true HTTP/1.1\r\n"));
}

TEST_F(Decide, RemovesEveryCredentialAndEveryHopByHopHeader) {
  // BC-029: the caller's own credential travels neither beside nor instead of ours.
  const std::string head = headFor(
      key() +
      "Authorization: Bearer other\r\nCookie: c=1\r\nProxy-Authorization: Basic x\r\n"
      "X-API-Key: second\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: "
      "trailers\r\n"
      "Trailer: X\r\nProxy-Connection: x\r\nAccept-Encoding: gzip, br\r\nExpect: 100-continue\r\n"
      "anthropic-beta: a,b\r\nX-Stainless-Retry-Count: 0\r\nContent-Length: 7\r\n");
  EXPECT_EQ(head,
            "POST /v1/messages?beta=true HTTP/1.1\r\nHost: api.anthropic.com\r\n"
            "anthropic-beta: a,b\r\nX-Stainless-Retry-Count: 0\r\n"
            "Accept-Encoding: identity\r\nContent-Length: 7\r\n");
}

TEST_F(Decide, PassesChunksAsChunks) {
  EXPECT_THAT(headFor(key() + "Transfer-Encoding: chunked\r\n"),
              testing::EndsWith("\r\nTransfer-Encoding: chunked\r\n"));
}

TEST(Authority, NamesThePortOnlyWhereItIsNotTheUsualOne) {
  EXPECT_EQ(authorityOf({true, "a.example", 443, "", ""}), "a.example");
  EXPECT_EQ(authorityOf({true, "a.example", 8443, "", ""}), "a.example:8443");
  EXPECT_EQ(authorityOf({false, "127.0.0.1", 80, "", ""}), "127.0.0.1");
  EXPECT_EQ(authorityOf({true, "::1", 443, "", ""}), "[::1]");
}

TEST(Answers, AreInTheProvidersErrorForm) {
  Refusal refusal;
  refusal.sentence = "no \"quotes\" broken";
  const AnswerShape anthropic{false, false, models::ErrorForm::Anthropic};
  const std::string text = errorAnswer(refusal, anthropic);
  EXPECT_THAT(text,
              testing::StartsWith("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(text, testing::EndsWith(
                        "\r\n\r\n{\"type\":\"error\",\"error\":{\"type\":\"permission_error\","
                        "\"message\":\"no \\\"quotes\\\" broken\"}}"));
  EXPECT_THAT(text, AllOf(HasSubstr("X-Should-Retry: false"), Not(HasSubstr("Connection: close"))));
  EXPECT_THAT(errorAnswer(refusal, AnswerShape{true, true, models::ErrorForm::Anthropic}),
              testing::EndsWith("Connection: close\r\n\r\n"));
}

TEST(Answers, SpeakEachProvidersDialectOfErrors) {
  Refusal refusal;
  refusal.why = "policy";
  refusal.sentence = "no";
  const auto bodyOf = [&](models::ErrorForm form) {
    const std::string text = errorAnswer(refusal, AnswerShape{false, false, form});
    return text.substr(text.find("\r\n\r\n") + 4);
  };
  EXPECT_EQ(bodyOf(models::ErrorForm::Openai),
            R"({"error":{"message":"no","type":"permission_error","param":null,"code":"policy"}})");
  EXPECT_EQ(bodyOf(models::ErrorForm::Google),
            R"({"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}})");
  EXPECT_EQ(bodyOf(models::ErrorForm::Aws), R"({"message":"no"})");
  EXPECT_EQ(bodyOf(models::ErrorForm::Plain), R"({"error":"policy","message":"no"})");
  EXPECT_THAT(errorAnswer(refusal, AnswerShape{false, false, models::ErrorForm::Aws}),
              HasSubstr("X-Amzn-ErrorType: AccessDeniedException\r\n"));
}

TEST(Answers, TellWhetherTryingAgainMayHelp) {
  EXPECT_TRUE(upstreamFailed("refused", "x").retry);
  EXPECT_EQ(upstreamFailed("refused", "x").status, 502);
  EXPECT_EQ(upstreamFailed("timeout", "x").status, 504);
  EXPECT_FALSE(upstreamFailed("tls", "x").retry);
  EXPECT_EQ(upstreamFailed("tls", "x").error_type, "api_error");
}

TEST(ClientHead, PassesTheProvidersAnswerOnAsItWasSent) {
  // BC-025: 429 and 529 with their headers arrive as they were sent.
  const auto answer = http::parseResponseHead(
      "HTTP/1.1 529 Overloaded\r\nretry-after: 8\r\nX-Unknown: y\r\nrequest-id: r\r\nKeep-Alive: "
      "5\r\n"
      "Connection: close, X-Hop\r\nX-Hop: z\r\nContent-Length: 3\r\nTrailer: T\r\n\r\n",
      false);
  const auto request = http::parseRequestHead("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(clientHead(*answer, clientFraming(*answer, *request)),
            "HTTP/1.1 529 Overloaded\r\nretry-after: 8\r\nX-Unknown: y\r\nrequest-id: r\r\n"
            "Content-Length: 3\r\n\r\n");
}

TEST(ClientHead, FramesOpenEndedBodiesSoThatACutIsSeen) {
  const auto answer = http::parseResponseHead("HTTP/1.1 200 OK\r\n\r\n", false);
  const auto newer = http::parseRequestHead("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto older = http::parseRequestHead("POST / HTTP/1.0\r\nHost: a\r\n\r\n");
  EXPECT_EQ(clientHead(*answer, clientFraming(*answer, *newer)),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(clientHead(*answer, clientFraming(*answer, *older)),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace warder::secrets
