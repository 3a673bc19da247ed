// The agent's body on its way to the upstream, and afterwards the watch for an agent that leaves.
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>

#include "secrets/exchange.h"
#include "secrets/read_more.h"

namespace warder::secrets {

namespace asio = boost::asio;

namespace {

void appendChunk(std::string& out, std::string_view data) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), data.size(), 16).ptr;
  out.append(digits.begin(), end);
  out += "\r\n";
  out += data;
  out += "\r\n";
}

asio::awaitable<void> waitForEver() {
  asio::steady_timer never(co_await asio::this_coro::executor);
  never.expires_at(asio::steady_timer::time_point::max());
  co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
}

/// One read of the agent's stream into its inbox; false when it is gone. A read that was cancelled
/// says nothing about the agent: the wait after it ends by the same cancellation.
asio::awaitable<bool> readClient(ClientSide* client) {
  const net::ReadResult read = co_await readMore(*client->connection, client->inbox);
  if (read.failure == asio::error::operation_aborted) co_await waitForEver();
  co_return !read.failure && read.bytes > 0;
}

}  // namespace

/// Ends only when the exchange cannot go on: the agent left or broke its framing. Otherwise it is
/// cancelled when the answer is over.
asio::awaitable<void> Exchange::upload() {
  const bool whole = co_await uploadBody();
  if (whole) co_await watchClient();
  // The upstream does not take the body: it has answered or is gone, and download() will tell.
  if (!client_gone_ && !refusal_) co_await waitForEver();
}

/// Takes what has come of the body off the inbox and frames it anew; false when it broke its
/// framing.
bool Exchange::pull() {
  const bool chunked = asked_.head.framing.kind == http::Framing::Kind::Chunked;
  const bool was_complete = request_body_.complete();
  unsent_ += std::exchange(held_, {});
  std::string& pulled = judge_ ? held_ : unsent_;
  std::size_t used = 0;
  while (used < client_.inbox.size()) {
    const auto step = request_body_.step(std::string_view(client_.inbox).substr(used));
    if (step.consumed == 0) break;
    used += step.consumed;
    if (step.data.empty()) continue;
    request_bytes_ += step.data.size();
    if (judge_) judge_->feed(step.data);
    if (body_digest_) body_digest_->add(step.data);
    if (chunked)
      appendChunk(pulled, step.data);
    else
      pulled += step.data;
  }
  client_.inbox.erase(0, used);
  if (chunked && !was_complete && request_body_.complete()) pulled += "0\r\n\r\n";
  if (request_body_.bad()) refuseBody(request_body_.fault());
  if (judge_ && !judged_) judgeWhole();
  return !refusal_;
}

/// What came last waits until what follows it is here, and goes when the whole body was judged:
/// nobody acts on half a document.
void Exchange::judgeWhole() {
  judged_ = request_body_.complete() && judge_->finish();
  if (judged_) unsent_ += std::exchange(held_, {});
  const auto& found = judge_->refusal();
  if (!found) return;
  Refusal refusal;
  refusal.status = static_cast<int>(found->status);
  refusal.why = models::nameOf(found->fault);
  refusal.error_type = found->error_type;
  refusal.sentence = found->sentence;
  refuse(std::move(refusal));
}

/// Sends what was pulled. `all`: until the body is complete, reading more of it.
asio::awaitable<bool> Exchange::sendBody(bool all) {
  for (;;) {
    if (!unsent_.empty()) {
      const std::string piece = std::exchange(unsent_, {});
      replayable_ = replayable_ && sent_.size() + piece.size() <= shared_.limits.replayed_body;
      if (replayable_) sent_ += piece;
      if (!replayable_) sent_.clear();
      const auto failure = co_await upstream_->writeAll(asio::buffer(piece));
      if (failure) co_return false;
    }
    body_sent_ = request_body_.complete();
    if (body_sent_ || !all) co_return true;
    const bool more = co_await readClient(&client_);
    client_gone_ = !more;
    if (!more || !pull()) co_return false;
  }
}

/// True when the whole body went out.
asio::awaitable<bool> Exchange::uploadBody() {
  co_return co_await sendBody(true);
}

/// An agent that leaves must not be paid for; the next request may come early, up to a head's size.
asio::awaitable<void> Exchange::watchClient() {
  while (client_.inbox.size() < http::kMaxHeadBytes) {
    const bool more = co_await readClient(&client_);
    if (more) continue;
    client_gone_ = true;
    co_return;
  }
}

}  // namespace warder::secrets
