// One request that was admitted: to the upstream and back, both bodies streamed.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "secrets/answers.h"
#include "secrets/body_digest.h"
#include "secrets/decision.h"
#include "secrets/http/body_decoder.h"
#include "secrets/models/request_judge.h"
#include "secrets/models/usage_meter.h"
#include "secrets/shared.h"
#include "secrets/vault/scrubber.h"
#include "supervisor/net/connection.h"

namespace warder::secrets {

/// The agent's side of a connection: the stream and what was read from it but not yet used.
struct ClientSide {
  std::unique_ptr<net::Connection> connection;
  std::string inbox;
};

/// What the session does with the connection afterwards.
struct ExchangeEnd {
  enum class Then { KeepAlive, Close, Abort };
  Then then = Then::Close;
  std::optional<Refusal> answer;  // nothing was answered yet: answer this
};

/// An upstream connection serves one request at a time, and goes back to the pool only when both
/// messages ended where their framing said: no answer can be taken for another request's.
class Exchange {
 public:
  /// All must outlive the exchange.
  Exchange(Shared& shared, ClientSide& client, const Asked& asked, const Verdict& verdict);
  boost::asio::awaitable<ExchangeEnd> run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Failure {
    std::string why;  // as the event broker.upstream_failed spells it
    std::string sentence;
  };

  void readTerms();
  bool enterBudget();
  boost::asio::awaitable<bool> connect(bool fresh);
  boost::asio::awaitable<bool> sendHead();
  boost::asio::awaitable<bool> collectForSigning();
  bool sign(const Outgoing& request, vault::WipedBytes& lines);
  bool mayReplay() const;
  bool noteRejection();
  void cut();
  void prepareReplay();
  void settleUpstream();

  bool pull();
  void judgeWhole();
  boost::asio::awaitable<void> upload();
  boost::asio::awaitable<bool> uploadBody();
  boost::asio::awaitable<bool> sendBody(bool all);
  boost::asio::awaitable<void> watchClient();

  boost::asio::awaitable<void> download();
  boost::asio::awaitable<bool> relay();
  boost::asio::awaitable<bool> readAnswerHead();
  boost::asio::awaitable<bool> passInterim(http::ResponseHead head);
  boost::asio::awaitable<bool> passHead();
  boost::asio::awaitable<bool> passBody();
  void framePiece(const vault::WipedBytes& piece);
  boost::asio::awaitable<bool> fillAnswer();
  boost::asio::awaitable<bool> writeToClient(boost::asio::const_buffer bytes);
  boost::asio::awaitable<void> relayUpgraded();

  void refuse(Refusal refusal);
  void refuseBody(std::string sentence);
  bool keepBudget();
  void leaveBudget();
  std::string modelAsked() const;
  std::optional<double> costSoFar() const;
  void failUpstream(std::string why, std::string sentence);
  void failRead(const net::ReadResult& read, const std::string& when);
  ExchangeEnd conclude();
  void emitFailures() const;
  void emitCall() const;
  void emitRequest() const;
  std::string_view howItEnded() const;
  bool lent() const { return verdict_.lease != nullptr; }

  Shared& shared_;
  ClientSide& client_;
  const Asked& asked_;
  const Verdict& verdict_;
  std::string pool_key_;
  std::shared_ptr<const LentSecret> secret_;  // null: nothing is injected
  OpenCall open_call_;
  bool taken_back_ = false;  // the secret was, while this call was under way
  bool asks_anew_ = false;   // with the secret that came meanwhile
  bool was_asked_anew_ = false;
  std::unique_ptr<net::Connection> upstream_;
  bool reused_ = false;  // upstream_ served another request before

  http::BodyDecoder request_body_;
  std::optional<BodyDigest> body_digest_;        // of a body whose hash is signed
  std::unique_ptr<models::RequestJudge> judge_;  // null: nothing of the body is judged
  bool judged_ = false;                          // the whole body was, and may go
  models::BudgetCall budget_call_;
  std::string payload_hash_;  // once it was needed
  std::uint64_t request_bytes_ = 0;
  std::optional<Refusal> refusal_;  // the body broke its framing, or must not go out
  std::string unsent_;              // framed body that may go out
  std::string held_;                // framed body that waits for what follows, to be judged with it
  std::string sent_;  // framed body that went out, while it is small enough to go again
  bool replayable_ = true;
  bool body_sent_ = false;

  vault::WipedBytes answer_inbox_;
  std::size_t scanned_ = 0;
  http::ResponseHead answer_;
  ClientFraming client_framing_;
  std::optional<http::BodyDecoder> answer_body_;
  std::optional<vault::Scrubber> scrubber_;
  std::unique_ptr<models::AnswerMeter> meter_;
  vault::WipedBytes to_client_;  // head and framed content that may pass now
  std::uint64_t response_bytes_ = 0;
  bool answer_begun_ = false;    // its first byte came
  bool answer_started_ = false;  // its head went to the agent
  bool answer_complete_ = false;
  bool switched_ = false;  // to another protocol, as was asked
  bool client_gone_ = false;
  std::optional<Failure> failure_;

  Clock::time_point started_ = Clock::now();
  std::optional<Clock::time_point> first_byte_;
};

}  // namespace warder::secrets
