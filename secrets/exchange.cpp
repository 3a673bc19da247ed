#include "secrets/exchange.h"

#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "secrets/read_more.h"
#include "secrets/tunnel.h"
#include "supervisor/net/dial.h"

namespace warder::secrets {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace {

constexpr std::string_view kContentHash = "x-amz-content-sha256";

}  // namespace

Exchange::Exchange(Shared& shared, ClientSide& client, const Asked& asked, const Verdict& verdict)
    : shared_(shared),
      client_(client),
      asked_(asked),
      verdict_(verdict),
      pool_key_(UpstreamPool::keyOf(verdict.lease ? verdict.lease->grant->name : "", asked.to)),
      secret_(verdict.lease ? verdict.lease->secret : nullptr),
      request_body_(asked.head.framing) {
  if (lent()) readTerms();
  if (secret_ && secret_->credential.signs() &&
      http::findField(asked.head.fields, kContentHash) == nullptr)
    body_digest_.emplace();
}

asio::awaitable<ExchangeEnd> Exchange::run() {
  if (lent()) open_call_.begin(verdict_.lease, [this] { cut(); });
  bool going = !refusal_ && pull();
  if (going && lent()) going = enterBudget();
  if (going && body_digest_) going = co_await collectForSigning();
  for (bool fresh = false; going; fresh = true) {
    const bool connected = co_await connect(fresh);
    if (!connected || taken_back_) break;
    // Until the answer is over, the agent may be silent as long as it likes.
    client_.connection->setIdleLimit(std::chrono::milliseconds(0));
    const bool sent = co_await sendHead();
    if (sent) co_await (download() || upload());
    if (!mayReplay()) break;
    prepareReplay();
  }
  if (switched_) co_await relayUpgraded();
  settleUpstream();
  co_return conclude();
}

asio::awaitable<bool> Exchange::connect(bool fresh) {
  if (!fresh) upstream_ = shared_.pool.take(pool_key_, Clock::now());
  reused_ = upstream_ != nullptr;
  if (!reused_) {
    const Upstream& to = asked_.to;
    net::Endpoint endpoint{to.tls, to.host, to.port, to.ca_file};
    net::DialRules rules;
    rules.private_addresses = policies::namesHost(shared_.rules.policy, to.host, to.port);
    rules.timeout = shared_.limits.dial;
    net::Dialled dialled = co_await net::dial(std::move(endpoint), rules);
    if (!dialled) {
      failUpstream(std::string(net::nameOf(dialled.error().why)), dialled.error().sentence);
      co_return false;
    }
    upstream_ = std::move(*dialled);
  }
  upstream_->setIdleLimit(shared_.limits.upstream_idle);
  co_return true;
}

asio::awaitable<bool> Exchange::sendHead() {
  const Outgoing request = outgoing(asked_, verdict_);
  std::string start = requestLineStart(request);
  std::string rest = restOfHead(request);
  std::string_view query;
  std::string_view lines;
  vault::WipedBytes signature;
  if (secret_) {
    query = secret_->credential.queryPart();
    lines = secret_->credential.lines();
    if (!query.empty()) start += request.query.empty() ? "?" : "&";
    if (secret_->credential.signs() && !sign(request, signature)) co_return false;
  }
  // A secret goes from its locked page into the TLS record, and nowhere else.
  const std::array<std::string_view, 6> parts{start, query, rest, lines, vault::viewOf(signature),
                                              "\r\n"};
  upstream_->hold();
  bool written = true;
  for (const std::string_view part : parts) {
    if (part.empty() || !written) continue;
    const auto failure = co_await upstream_->writeAll(asio::buffer(part));
    written = !failure;
  }
  if (written && !asked_.head.expects_continue) written = co_await sendBody(false);
  upstream_->release();
  if (!written) {
    failUpstream("closed", "the connection ended before the request was sent");
    co_return false;
  }
  if (!asked_.head.expects_continue) co_return true;
  const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  const bool told = co_await writeToClient(asio::buffer(go_on));
  co_return told;
}

/// A signature covers the body, so the whole of it must be here first, unless the agent's client
/// says its hash (as AWS's own do, for the signature that we take out).
asio::awaitable<bool> Exchange::collectForSigning() {
  while (!request_body_.complete()) {
    if (unsent_.size() > shared_.limits.signed_body) {
      refuseBody("a request that is to be signed may have a body of at most " +
                 std::to_string(shared_.limits.signed_body) +
                 " bytes, or must carry x-amz-content-sha256");
      co_return false;
    }
    const net::ReadResult read = co_await readMore(*client_.connection, client_.inbox);
    client_gone_ = read.failure || read.bytes == 0;
    if (client_gone_ || !pull()) co_return false;
  }
  co_return true;
}

bool Exchange::sign(const Outgoing& request, vault::WipedBytes& lines) {
  const std::string* claimed = http::findField(asked_.head.fields, kContentHash);
  if (body_digest_ && payload_hash_.empty()) payload_hash_ = body_digest_->hex();
  const std::string hash = claimed != nullptr ? *claimed : payload_hash_;
  std::string_view query = request.query;
  if (query.starts_with('?')) query.remove_prefix(1);
  const vault::SigningCase what{request.method, request.host, request.path,      query,
                                request.fields, hash,         std::time(nullptr)};
  const auto signed_well = secret_->credential.sign(what, lines);
  if (!signed_well) refuseBody(signed_well.error().sentence());
  return bool(signed_well);
}

/// A server may close an idle connection just when a request is on its way on it. One replay, on a
/// connection of its own, and only when not a byte was answered.
bool Exchange::mayReplay() const {
  if (asks_anew_) return true;
  return reused_ && replayable_ && !answer_begun_ && !client_gone_ && !refusal_ && failure_ &&
         failure_->why == "closed" && !asked_.head.expects_continue;
}

void Exchange::prepareReplay() {
  upstream_->close();
  upstream_.reset();
  failure_.reset();
  answer_inbox_.clear();
  scanned_ = 0;
  body_sent_ = false;
  if (std::exchange(asks_anew_, false)) {
    was_asked_anew_ = true;
    answer_begun_ = false;
    secret_ = verdict_.lease->secret;
  }
  unsent_ = sent_ + unsent_;
  sent_.clear();
}

/// The upstream answered 401. True when the secret was renewed since this request began, and it can
/// be sent once more, with the new one; else the answer goes on as it is.
bool Exchange::noteRejection() {
  if (!lent() || answer_.status != 401) return false;
  if (verdict_.lease->secret == secret_) {
    if (shared_.rejected) shared_.rejected(*verdict_.lease);
    return false;
  }
  asks_anew_ = replayable_ && !was_asked_anew_ && !client_gone_ && !refusal_ &&
               !verdict_.lease->revoked && !asked_.head.expects_continue;
  return asks_anew_;
}

/// The secret was taken back. That is nobody's failure.
void Exchange::cut() {
  taken_back_ = true;
  client_.connection->abort();
  if (upstream_) upstream_->close();
}

/// Back to the pool only when nothing of this request is left in it.
void Exchange::settleUpstream() {
  if (!upstream_) return;
  const bool clean = answer_complete_ && body_sent_ && answer_inbox_.empty() && !failure_ &&
                     !switched_ && answer_.keep_alive &&
                     (!lent() || verdict_.lease->secret == secret_) &&
                     answer_.framing.kind != http::Framing::Kind::UntilClose;
  if (clean)
    shared_.pool.give(pool_key_, std::move(upstream_), Clock::now());
  else
    upstream_->close();
}

asio::awaitable<void> Exchange::relayUpgraded() {
  const std::string early(answer_inbox_.begin(), answer_inbox_.end());
  answer_inbox_.clear();
  Relay relay{*client_.connection, *upstream_, std::exchange(client_.inbox, {}), early};
  co_await relayBothWays(relay);
  response_bytes_ += relay.bytes_to_client;
  request_bytes_ += relay.bytes_to_upstream;
}

/// The first cause counts: once upload() has found the agent at fault, what its cancellation does
/// to download() says nothing about the upstream.
void Exchange::failUpstream(std::string why, std::string sentence) {
  shared_.gate.clean(sentence);  // it goes to the agent too
  if (!failure_ && !client_gone_ && !refusal_ && !taken_back_)
    failure_ = Failure{std::move(why), std::move(sentence)};
}

/// `when` completes "… ended" or "… said nothing for too long".
void Exchange::failRead(const net::ReadResult& read, const std::string& when) {
  const std::string host = authorityOf(asked_.to);
  if (read.failure == asio::error::timed_out)
    failUpstream("timeout", host + " said nothing for too long " + when);
  else
    failUpstream("closed", host + " ended the connection " + when);
}

ExchangeEnd Exchange::conclude() {
  ExchangeEnd end;
  leaveBudget();
  emitFailures();
  if (answer_started_ || (client_gone_ && body_sent_)) {
    if (lent())
      emitCall();
    else
      emitRequest();
  }
  if (switched_) return end;
  if (answer_complete_ && !client_gone_) {
    const bool reusable = request_body_.complete() && !client_framing_.close;
    end.then = reusable ? ExchangeEnd::Then::KeepAlive : ExchangeEnd::Then::Close;
    return end;
  }
  if (client_gone_ || taken_back_) return end;
  if (answer_started_) {
    // Only where the end of the body is the end of the connection could a cut look orderly.
    if (client_framing_.framing.kind == http::Framing::Kind::UntilClose)
      end.then = ExchangeEnd::Then::Abort;
    return end;
  }
  if (!failure_) failure_ = Failure{"closed", "it ended without a reason"};
  end.answer = refusal_ ? *refusal_ : upstreamFailed(failure_->why, failure_->sentence);
  if (request_body_.complete() && asked_.head.keep_alive) end.then = ExchangeEnd::Then::KeepAlive;
  return end;
}

}  // namespace warder::secrets
