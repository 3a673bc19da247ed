#include "supervisor/net/connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace warder::net {

namespace asio = boost::asio;

asio::awaitable<ReadResult> Connection::readSome(asio::mutable_buffer into) {
  // A peer that is always ahead of us must not keep the thread from the others.
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  for (;;) {
    const auto read = readNow(into);
    if (read) co_return *read;
    const auto failure = co_await awaitReadable();
    if (!failure) continue;
    ReadResult failed;
    failed.failure = failure;
    co_return failed;
  }
}

}  // namespace warder::net
