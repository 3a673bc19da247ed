#include "secrets/tunnel.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "secrets/read_more.h"

namespace warder::secrets {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace {

struct Direction {
  net::Connection& from;
  net::Connection& to;
  std::string pending;
  std::uint64_t& bytes;
};

/// Throughout: a failure closes both ends, so that the other direction ends too.
asio::awaitable<bool> carry(Direction* way) {
  bool timed_out = false;
  for (;;) {
    if (!way->pending.empty()) {
      const auto failure = co_await way->to.writeAll(asio::buffer(way->pending));
      if (failure) break;
      way->bytes += way->pending.size();
      way->pending.clear();
    }
    const net::ReadResult read = co_await readMore(way->from, way->pending);
    if (!read.failure && read.bytes > 0) continue;
    if (!read.failure) {
      way->to.endWriting();
      co_return false;
    }
    timed_out = read.failure == asio::error::timed_out;
    break;
  }
  way->from.close();
  way->to.close();
  co_return timed_out;
}

}  // namespace

asio::awaitable<void> relayBothWays(Relay& relay) {
  Direction out{relay.client, relay.upstream, std::move(relay.early_from_client),
                relay.bytes_to_upstream};
  Direction back{relay.upstream, relay.client, std::move(relay.early_from_upstream),
                 relay.bytes_to_client};
  const auto [out_late, back_late] = co_await (carry(&out) && carry(&back));
  relay.timed_out = out_late || back_late;
  relay.client.close();
  relay.upstream.close();
}

}  // namespace warder::secrets
