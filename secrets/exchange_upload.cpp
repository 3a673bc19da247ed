// The agent's body on its way to the upstream, and afterwards the watch for an agent that leaves.
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>

#include "secrets/exchange.h"

namespace warder::secrets {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kPiece = 16'384;

std::string chunkLine(std::size_t size) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), size, 16).ptr;
  return std::string(digits.begin(), end) + "\r\n";
}

asio::awaitable<void> waitForEver() {
  asio::steady_timer never(co_await asio::this_coro::executor);
  never.expires_at(asio::steady_timer::time_point::max());
  co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
}

/// One read of the agent's stream into its inbox; false when it is gone. A read that was cancelled
/// says nothing about the agent: the wait after it ends by the same cancellation.
asio::awaitable<bool> readMore(ClientSide* client) {
  std::array<char, kPiece> piece;
  const net::ReadResult read = co_await client->connection->readSome(asio::buffer(piece));
  client->inbox.append(piece.data(), read.bytes);
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
  if (!client_gone_ && request_fault_.empty()) co_await waitForEver();
}

/// True when the whole body went out.
asio::awaitable<bool> Exchange::uploadBody() {
  const bool chunked = head_.framing.kind == http::Framing::Kind::Chunked;
  std::string out;
  while (!request_body_.complete()) {
    if (client_.inbox.empty()) {
      const bool more = co_await readMore(&client_);
      client_gone_ = !more;
      if (!more) co_return false;
    }
    out.clear();
    std::size_t used = 0;
    while (used < client_.inbox.size()) {
      const auto step = request_body_.step(std::string_view(client_.inbox).substr(used));
      if (step.consumed == 0) break;
      used += step.consumed;
      if (step.data.empty()) continue;
      request_bytes_ += step.data.size();
      request_model_.feed(step.data);
      if (chunked) out += chunkLine(step.data.size());
      out += step.data;
      if (chunked) out += "\r\n";
    }
    client_.inbox.erase(0, used);
    if (request_body_.bad()) {
      request_fault_ = request_body_.fault();
      co_return false;
    }
    if (chunked && request_body_.complete()) out += "0\r\n\r\n";
    const auto failure = co_await upstream_->writeAll(asio::buffer(out));
    if (failure) co_return false;
  }
  co_return true;
}

/// An agent that leaves must not be paid for; the next request may come early, up to a head's size.
asio::awaitable<void> Exchange::watchClient() {
  while (client_.inbox.size() < http::kMaxHeadBytes) {
    const bool more = co_await readMore(&client_);
    if (more) continue;
    client_gone_ = true;
    co_return;
  }
}

}  // namespace warder::secrets
