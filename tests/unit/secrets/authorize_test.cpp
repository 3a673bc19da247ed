#include "secrets/authorize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secrets/answers.h"
#include "secrets/grant_plan.h"

namespace warder::secrets {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Admit : public testing::Test {
 protected:
  Admit() {
    policy_.allow.push_back({"api.anthropic.com", 443, {"POST"}, {"/v1/**"}, "claude-code:4"});
  }

  Admission admitted(const std::string& line, const std::string& headers) {
    const auto head =
        http::parseRequestHead(line + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n");
    head_ = *head;
    target_ = *http::parseTarget(head_.target);
    return admit({grant_, provider_, policy_, head_, target_});
  }
  int statusOf(const std::string& line, const std::string& headers) {
    const Admission admission = admitted(line, headers);
    return admission.refusal ? admission.refusal->status : 0;
  }
  std::string headFor(const std::string& headers) {
    admitted("POST /v1/messages?beta=true", headers);
    return upstreamHead({grant_, provider_, policy_, head_, target_});
  }
  std::string key() const { return "x-api-key: " + grant_.placeholder + "\r\n"; }

  Grant grant_ = planGrants({{"key", "anthropic", "", ""}})->at(0);
  models::Provider provider_ = *models::providerNamed("anthropic");
  policies::Policy policy_;
  http::RequestHead head_;
  http::Target target_;
};

TEST_F(Admit, LetsTheProvidersRoutesThroughWithThePlaceholder) {
  EXPECT_EQ(statusOf("POST /v1/messages", key()), 0);
  EXPECT_EQ(statusOf("POST /v1/messages?beta=true", key()), 0);
  EXPECT_EQ(statusOf("POST /v1/messages/count_tokens", key()), 0);
  EXPECT_EQ(statusOf("POST /v1/messages", "Authorization: Bearer " + grant_.placeholder + "\r\n"),
            0);
  EXPECT_EQ(statusOf("POST /v1/messages", "authorization: bearer " + grant_.placeholder + "\r\n"),
            0);
}

TEST_F(Admit, AnswersUnknownPathsWithAQuick404AndWrongMethodsWith403) {
  EXPECT_EQ(statusOf("HEAD /api/hello", key()), 404);
  EXPECT_EQ(statusOf("POST /v1/messages/", key()), 404);
  EXPECT_EQ(statusOf("POST /v1/messagesX", key()), 404);
  EXPECT_EQ(statusOf("POST /V1/messages", key()), 404);
  EXPECT_EQ(statusOf("GET /v1/organizations/api_keys", key()), 404);
  EXPECT_EQ(statusOf("GET /v1/messages", key()), 403);
  EXPECT_EQ(statusOf("post /v1/messages", key()), 403);
}

TEST_F(Admit, RefusesEveryCredentialButThePlaceholder) {
  // BC-103.
  const std::string other = planGrants({{"b", "anthropic", "", ""}})->at(0).placeholder;
  for (const std::string& headers :
       {std::string(), "x-api-key: " + other + "\r\n",
        std::string("x-api-key: sk-ant-api03-own\r\n"),
        "x-api-key: " + grant_.placeholder + "x\r\n", std::string("x-api-key:\r\n"),
        "Authorization: Basic " + grant_.placeholder + "\r\n",
        "Authorization: " + grant_.placeholder + "\r\n", "Cookie: " + grant_.placeholder + "\r\n",
        "x_api_key: " + grant_.placeholder + "\r\n", key() + "Authorization: Bearer other\r\n",
        "authorization: Basic x\r\n" + key(), key() + "X-Api-Key: sk-ant-api03-own\r\n",
        key() + "Authorization:\r\n"}) {
    const Admission admission = admitted("POST /v1/messages", headers);
    ASSERT_TRUE(admission.refusal) << headers;
    EXPECT_EQ(admission.refusal->status, 403);
    EXPECT_EQ(admission.refusal->error_type, "permission_error");
  }
}

TEST_F(Admit, TakesThePlaceholderInMoreThanOneHeaderAndIgnoresCookies) {
  EXPECT_EQ(
      statusOf("POST /v1/messages", key() + "Authorization: Bearer " + grant_.placeholder + "\r\n"),
      0);
  EXPECT_EQ(statusOf("POST /v1/messages", key() + "Cookie: a=b\r\n"), 0);
}

TEST_F(Admit, RemovesWhatCouldMakeAServerSeeAnotherRequest) {
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
            "Accept-Encoding: identity\r\nConnection: close\r\n");
}

TEST_F(Admit, AsksThePolicyForWhatWillBeDialled) {
  policy_.allow[0].port = 8443;
  EXPECT_EQ(statusOf("POST /v1/messages", key()), 403);
  policy_.allow[0].port = 443;
  policy_.deny.push_back({"api.anthropic.com", 443, {}, {"/v1/messages"}, "job.yaml:9"});
  const Admission denied = admitted("POST /v1/messages", key());
  ASSERT_TRUE(denied.refusal);
  EXPECT_EQ(denied.refusal->rule, "job.yaml:9");
  EXPECT_EQ(statusOf("POST /v1/messages/count_tokens", key()), 0);
  policy_ = {};
  EXPECT_EQ(statusOf("POST /v1/messages", key()), 403);
}

TEST_F(Admit, DecidesOnThePathThatTheUpstreamSees) {
  grant_.upstream.base_path = "/prefix";
  EXPECT_EQ(statusOf("POST /v1/messages", key()), 403);
  policy_.allow[0].paths = {"/prefix/v1/messages"};
  EXPECT_EQ(statusOf("POST /v1/messages", key()), 0);
  EXPECT_THAT(headFor(key()), HasSubstr("POST /prefix/v1/messages?beta=true HTTP/1.1\r\n"));
}

TEST_F(Admit, RemovesEveryCredentialAndEveryHopByHopHeader) {
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
            "Accept-Encoding: identity\r\nConnection: close\r\nContent-Length: 7\r\n");
}

TEST_F(Admit, PassesChunksAsChunks) {
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
  const std::string text = errorAnswer(refusal, AnswerShape{});
  EXPECT_THAT(text,
              testing::StartsWith("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(text, testing::EndsWith(
                        "\r\n\r\n{\"type\":\"error\",\"error\":{\"type\":\"permission_error\","
                        "\"message\":\"no \\\"quotes\\\" broken\"}}"));
  EXPECT_THAT(text, AllOf(HasSubstr("X-Should-Retry: false"), Not(HasSubstr("Connection: close"))));
  EXPECT_THAT(errorAnswer(refusal, AnswerShape{true, true}),
              testing::EndsWith("Connection: close\r\n\r\n"));
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
