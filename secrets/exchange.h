// One request that was admitted: to the upstream and back, both bodies streamed.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "secrets/answers.h"
#include "secrets/authorize.h"
#include "secrets/door.h"
#include "secrets/http/body_decoder.h"
#include "secrets/models/usage_meter.h"
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

/// One upstream connection per request: no answer can be taken for another request's.
class Exchange {
 public:
  Exchange(const Door& door, ClientSide& client, const http::RequestHead& head,
           const http::Target& target);
  boost::asio::awaitable<ExchangeEnd> run(const models::Route* route);

 private:
  using Clock = std::chrono::steady_clock;
  struct Failure {
    std::string why;  // as the event broker.upstream_failed spells it
    std::string sentence;
  };

  boost::asio::awaitable<bool> sendHead();
  boost::asio::awaitable<void> upload();
  boost::asio::awaitable<bool> uploadBody();
  boost::asio::awaitable<void> watchClient();
  boost::asio::awaitable<void> download();
  boost::asio::awaitable<bool> relay();
  boost::asio::awaitable<bool> readAnswerHead();
  boost::asio::awaitable<bool> passInterim(http::ResponseHead head);
  boost::asio::awaitable<bool> passHead();
  boost::asio::awaitable<bool> passBody();
  boost::asio::awaitable<bool> passPiece(vault::WipedBytes piece);
  boost::asio::awaitable<bool> fillAnswer();
  boost::asio::awaitable<bool> writeToClient(boost::asio::const_buffer bytes);

  void failUpstream(std::string why, std::string sentence);
  void failRead(const net::ReadResult& read, const std::string& when);
  void discardBuffered();
  ExchangeEnd conclude();
  void emitCall() const;

  const Door& door_;
  ClientSide& client_;
  const http::RequestHead& head_;
  const http::Target& target_;
  const models::Route* route_ = nullptr;
  std::unique_ptr<net::Connection> upstream_;

  http::BodyDecoder request_body_;
  models::ModelScan request_model_;
  std::uint64_t request_bytes_ = 0;
  std::string request_fault_;  // the agent's body broke its framing

  vault::WipedBytes answer_inbox_;
  std::size_t scanned_ = 0;
  http::ResponseHead answer_;
  ClientFraming client_framing_;
  std::optional<http::BodyDecoder> answer_body_;
  std::optional<vault::Scrubber> scrubber_;
  std::optional<models::UsageMeter> meter_;
  std::uint64_t response_bytes_ = 0;
  bool answer_started_ = false;  // its head went to the agent
  bool answer_complete_ = false;
  bool client_gone_ = false;
  std::optional<Failure> failure_;

  Clock::time_point started_ = Clock::now();
  std::optional<Clock::time_point> first_byte_;
};

}  // namespace warder::secrets
